/** Returns the object for the value that is stored under a key. If it throws, this one object is invalid. */
export type RedisDecode<T> = (value: Uint8Array, key: string) => T
/** Returns the value to store for an object. If it throws, `apply` rejects. */
export type RedisEncode<T> = (object: T, key: string) => Uint8Array | string

/** `json`: JSON in UTF-8. `string`: UTF-8. `bytes`: a `Uint8Array`. */
export type RedisCodecName = 'json' | 'string' | 'bytes'
/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type RedisKeys = 'string' | 'bytes'
