/** Internal code that the command line uses. It does not follow semantic versioning. */
export { ApiSession } from './http/api-session.js'
export { Credentials, type KubeConfigLike } from './http/credentials.js'
export { isWatchable, namesOf, resourcesOf, type Served } from './http/discovery.js'
