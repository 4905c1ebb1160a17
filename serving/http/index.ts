/**
 * Followers of an informer over HTTP. `serveHttp` serves one, `httpSource` follows it.
 *
 * @module listwatch/http
 */

export type { UpstreamVersions } from '../../adapters/common/upstream-versions.js'
export type {
  HttpCollections,
  HttpCollectionsOptions,
  HttpSource,
  HttpSourceOptions,
  RequestHeaders,
} from './http-options.js'
export { httpCollections, httpSource } from './http-source.js'
export { httpStatus } from './http-status.js'
export { type NodeRequest, type NodeResponse, nodeListener } from './node-listener.js'
export {
  type CollectionsScope,
  type HttpServing,
  type MirrorScope,
  type RequestScope,
  type ServeCollectionsOptions,
  type ServedInformers,
  type ServeHttpOptions,
  serveHttp,
} from './serve-http.js'
