/** Internal code that the command line uses. It does not follow semantic versioning. */
export { apiStatusIn } from './http/api-error.js'
export { ApiSession } from './http/api-session.js'
export { Credentials, type KubeConfigLike } from './http/credentials.js'
export { groupPath, isWatchable, namesOf, resourcesOf, type Served } from './http/discovery.js'
