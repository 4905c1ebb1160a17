import type { Invalid, Put } from '../../src/contract/source.js';
import type { KeyValue } from './transport/etcd-messages.js';
/** Makes an object of the value that lies under a key. What it throws makes that one object invalid. */
export type EtcdCodec<T> = (value: Uint8Array, key: string) => T;
/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type EtcdKeys = 'string' | 'bytes';
/** Of the codecs that have names. Bytes are copied: those that came belong to a whole message. */
declare const codecs: Readonly<Record<'json' | 'string' | 'bytes', (value: Buffer) => unknown>>;
/** Makes events of what etcd holds, the same in a list and in a watch. */
export declare class EntryCodec<T> {
    #private;
    constructor(codec: keyof typeof codecs | EtcdCodec<T>, keys: EtcdKeys);
    put({ key, value, modRevision }: KeyValue): Put<T> | Invalid;
    /** The key in the store. One that is no UTF-8 shows in hexadecimal after half a character. */
    key(bytes: Buffer): string;
}
export {};
