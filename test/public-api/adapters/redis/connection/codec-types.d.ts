/** Makes an object of what lies under a key. What it throws makes that one object invalid. */
export type RedisDecode<T> = (value: Uint8Array, key: string) => T;
/** Makes what lies under a key of an object. */
export type RedisEncode<T> = (object: T, key: string) => Uint8Array | string;
export type RedisCodecName = 'json' | 'string' | 'bytes';
/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type RedisKeys = 'string' | 'bytes';
