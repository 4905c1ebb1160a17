/**
 * One mirror for all threads and processes of a host. `shareInformer` shares an informer, `sharedSource` follows it.
 *
 * @module listwatch/share
 */

export { type Share, type ShareOptions, shareInformer } from './share-informer.js'
export { type SharedSourceOptions, sharedSource } from './shared-source.js'
