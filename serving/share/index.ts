/**
 * One mirror for all threads and processes of a host. `serveShared` shares an informer, `sharedSource` follows it.
 *
 * @module listwatch/share
 */

export type { UpstreamVersions } from '../../adapters/common/upstream-versions.js'
export type { HttpSource } from '../http/http-options.js'
export type { MirrorScope } from '../http/serve-http.js'
export { type ServeSharedOptions, type SharedServing, serveShared } from './serve-shared.js'
export { type SharedSourceOptions, sharedSource } from './shared-source.js'
