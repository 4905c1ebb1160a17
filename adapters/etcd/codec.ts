/** Returns the object for the value that is stored under a key. If it throws, this one object is invalid. */
export type EtcdCodec<T> = (value: Uint8Array, key: string) => T

/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type EtcdKeys = 'string' | 'bytes'
