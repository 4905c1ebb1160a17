import { isCount } from '../../../src/util/validate-options.js'
import { crc16, SLOTS } from '../connection/hash-slot.js'

/** The three keys of a collection. What is between the braces puts them onto one server of a cluster. */
export interface CollectionKeys {
  /** A hash: what there is. */
  readonly hash: string
  /** A stream: how it came to be so. */
  readonly stream: string
  /** A hash: epoch, id and chain of the newest entry, and how many fields there are. */
  readonly meta: string
}

export function collectionKeys(prefix: string, name: string): CollectionKeys {
  const tag = `${prefix}{${name}}`
  return { hash: `${tag}:h`, stream: `${tag}:s`, meta: `${tag}:m` }
}

/** The name of one of several collections that are one together. */
export function shardName(name: string, shard: number): string {
  return `${name}/${shard}`
}

/** Which of them has a key. */
export function shardOf(key: Uint8Array, shards: number): number {
  return crc16(key) % shards
}

/** Says what is wrong with the name of a collection. */
export function nameFlaw(value: unknown): string | undefined {
  return typeof value === 'string' && /^[^{}]+$/.test(value) ? undefined : 'must be a string without { and }, not empty'
}

/** Says what is wrong with a number of shards: more than there are slots could not be told apart by a key. */
export function shardsFlaw(value: unknown): string | undefined {
  return isCount(value) ?? (Number(value) > SLOTS ? `must be at most ${SLOTS}` : undefined)
}
