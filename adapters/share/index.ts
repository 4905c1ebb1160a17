/**
 * One mirror for all threads and processes of a host. `shareInformer` shares an informer, `sharedSource` follows it.
 *
 * @module listwatch/share
 */

export type { HttpSource } from '../http/http-options.js'
export type { MirrorScope } from '../http/serve-mirror.js'
export type { UpstreamVersions } from '../shared/upstream-versions.js'
export { type Share, type ShareOptions, shareInformer } from './share-informer.js'
export { type SharedSourceOptions, sharedSource } from './shared-source.js'
