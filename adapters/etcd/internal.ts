/** Internal code that the command line uses. It does not follow semantic versioning. */
export { prefixRange } from './transport/key-range.js'
export { KNOWN_LOSSES, losesEvents } from './transport/server-version.js'
