/** What the command line uses of the inspector. */
export { digestOf } from './object-digest.js'
export { jsonOf } from './object-json.js'
export type { MirrorPosition, ObjectDigest } from './store-digests.js'
