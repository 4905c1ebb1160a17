import type { PackedSection } from '../../contract/mirror-cache.js';
/** Yields sections, and undefined after a step of the work. */
export type SectionWriter = Generator<PackedSection | undefined, void>;
/** Returns an array as a section. */
export declare function sectionOf(name: string, { buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>): PackedSection;
/** Returns a value of JSON as a section. */
export declare function jsonSection(name: string, value: unknown): PackedSection;
/** Reads the sections of a packed snapshot as arrays. It copies nothing, except from addresses that are not aligned. */
export declare class SectionReader {
    #private;
    constructor(sections: ReadonlyMap<string, Uint8Array>);
    bytes(name: string): Uint8Array;
    int32(name: string): Int32Array;
    uint32(name: string): Uint32Array;
    float64(name: string): Float64Array;
    json(name: string): unknown;
}
/** Decodes UTF-8, also from shared memory, which `TextDecoder` refuses. */
export declare function textOf(bytes: Uint8Array): string;
