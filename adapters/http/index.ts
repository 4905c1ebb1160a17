/**
 * Followers of an informer over HTTP. `serveMirror` serves one, `httpSource` follows it.
 *
 * @module listwatch/http
 */

export type { UpstreamVersions } from '../shared/upstream-versions.js'
export type { HttpSource, HttpSourceOptions, RequestHeaders } from './http-options.js'
export { httpSource } from './http-source.js'
export { httpStatus } from './http-status.js'
export { type NodeRequest, type NodeResponse, nodeListener } from './node-listener.js'
export {
  type MirrorHandler,
  type MirrorScope,
  type RequestScope,
  type ServeMirrorOptions,
  serveMirror,
} from './serve-mirror.js'
