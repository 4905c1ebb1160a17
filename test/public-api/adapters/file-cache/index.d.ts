export { type FileCacheOptions, fileCache } from './file-cache.js';
