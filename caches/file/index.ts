/**
 * A file that keeps the content of a mirror for a warm start.
 *
 * @module listwatch/file-cache
 */

export { type FileCacheOptions, fileCache } from './file-cache.js'
