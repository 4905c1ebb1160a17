/** Internal code that the command line uses. It does not follow semantic versioning. */
export { Session } from './connection/session.js'
