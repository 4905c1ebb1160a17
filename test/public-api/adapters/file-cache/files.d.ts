import { type FileHandle } from 'node:fs/promises';
/** The operations on files that can fail in tests. */
export interface Files {
    open(path: string, flags: string | number, mode?: number): Promise<FileHandle>;
    rename(from: string, to: string): Promise<void>;
}
export declare const realFiles: Files;
/** Opens a file for reading, if it is a regular one. A link is refused, and a pipe does not block. */
export declare function openForReading(path: string, files: Files): Promise<FileHandle>;
/**
 * Replaces a file atomically: writes a temporary file beside it, and renames it. After a crash at any moment, the path has the old
 * content or the new one.
 *
 * @throws SourceError UNAVAILABLE if the file cannot be written. Then the old content is kept.
 */
export declare function replaceFile(path: string, files: Files, write: (file: FileHandle) => Promise<void>): Promise<void>;
/** Returns why an operation on a file failed, in words. */
export declare function reasonOf(error: unknown, path: string): string;
/** Whether an error is one of the operating system, whose `code` is such as `ENOSPC`. */
export declare function isSystemError(error: unknown): error is Error & {
    readonly code: string;
};
