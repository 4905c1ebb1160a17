import type { Delete, Invalid, Put } from '../../../src/contract/source.js';
/** Makes an object of what lies under a key. What it throws makes that one object invalid. */
export type RedisDecode<T> = (value: Uint8Array, key: string) => T;
/** Makes what lies under a key of an object. */
export type RedisEncode<T> = (object: T, key: string) => Uint8Array | string;
export type RedisCodecName = 'json' | 'string' | 'bytes';
/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type RedisKeys = 'string' | 'bytes';
/** Makes events of what Redis holds, the same in a list and in a watch. */
export declare class EventCodec<T> {
    #private;
    /** Whether keys and values may come as strings. */
    readonly takesText: boolean;
    constructor(codec: RedisCodecName | RedisDecode<T>, keys: RedisKeys);
    put(bytes: Buffer | string, value: Buffer | string): Put<T> | Invalid;
    delete(bytes: Buffer | string): Delete<T>;
    /** The key in the store. One that is no UTF-8 shows in hexadecimal after half a character. */
    key(bytes: Buffer | string): string;
}
/** Refuses a promise, which is no object; whatever it rejects with is nobody's concern then. */
export declare function notPromised<V>(value: V, by: string): V;
/** What an object is in Redis, in bytes of our own. A TypeError where it cannot be. */
export declare function encodeValue<T>(codec: RedisCodecName | RedisEncode<T>, object: T, key: string): Buffer | string;
/** What a key is in Redis. A TypeError where it cannot be. */
export declare function encodeKey(key: string, keys: RedisKeys): Buffer | string;
