import { isCount } from '../../../src/util/validate-options.js'
import { crc16, SLOTS } from '../connection/hash-slot.js'

/** They have one hash tag, so they are in one slot of a cluster. Collections of a database share all but the hash. */
export interface CollectionKeys {
  /** A hash: the current objects. */
  readonly hash: string
  /** A stream: the change log. */
  readonly stream: string
  /** A hash: epoch, id and chain of the newest entry, and the number of fields. */
  readonly meta: string
  /** The field of `meta` that has the number of fields of `hash`. */
  readonly count: string
  /** What its keys begin with in the stream of a database. */
  readonly start: string
}

export function collectionKeys(prefix: string, name: string): CollectionKeys {
  const tag = `${prefix}{${name}}`
  return { hash: `${tag}:h`, stream: `${tag}:s`, meta: `${tag}:m`, count: 'c', start: '' }
}

/** The keys of a collection of a database. Without a collection they are those of all, with a hash that is never written. */
export function databaseKeys(prefix: string, name: string, collection: string): CollectionKeys {
  const tag = `${prefix}{${name}}`
  const start = collection === '' ? '' : `${collection}/`
  return { hash: `${tag}:h:${collection}`, stream: `${tag}:log`, meta: `${tag}:meta`, count: `c${collection}`, start }
}

export function shardName(name: string, shard: number): string {
  return `${name}/${shard}`
}

export function shardOf(key: Uint8Array, shards: number): number {
  return crc16(key) % shards
}

export function nameFlaw(value: unknown): string | undefined {
  return typeof value === 'string' && /^[^{}]+$/.test(value) ? undefined : 'must be a string without { and }, not empty'
}

/** A key cannot select among more shards than there are slots. */
export function shardsFlaw(value: unknown): string | undefined {
  return isCount(value) ?? (Number(value) > SLOTS ? `must be at most ${SLOTS}` : undefined)
}
