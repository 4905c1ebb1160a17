/** Internal code that the command line uses. It does not follow semantic versioning. */
export { KNOWN_LOSSES, losesEvents } from './transport/server-version.js'
