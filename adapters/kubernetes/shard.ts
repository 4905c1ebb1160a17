import { SourceError } from '../../src/contract/errors.js'
import type { ListEvent, WatchEvent } from '../../src/contract/source.js'

/**
 * One of several equal parts of a collection, by a hash of the uid.
 *
 * @example
 * ```ts
 * const index = Number(process.env['POD_INDEX']) // 0, 1 or 2: a pod of a StatefulSet.
 * const source = kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', shard: { index, count: 3 } })
 * ```
 */
export interface KubernetesShard {
  /** The number of the part, from 0. */
  readonly index: number
  /** How many parts there are. Every process needs the same number. */
  readonly count: number
}

/** A hash of 64 bits, in two halves. */
interface Hash64 {
  readonly high: number
  readonly low: number
}

const HALF = 2 ** 32

/**
 * A field selector for every object: no name has a slash. What an API server reads from etcd, and not from its watch
 * cache, it selects by `shardSelector` only if there is a label or field selector too (Kubernetes 1.36).
 */
export const EVERY_OBJECT = 'metadata.name!=/'

/** The hashes of one shard. The server selects by them, and each object that it sends is checked. */
export class Shard {
  /** The value of the parameter `shardSelector`. */
  readonly selector: string
  readonly #name: string
  readonly #start: Hash64
  readonly #last: Hash64

  constructor({ index, count }: KubernetesShard) {
    const [start, end] = [boundOf(index, count), boundOf(index + 1, count)]
    this.selector = `shardRange(object.metadata.uid, '${textOf(start)}', '${textOf(end)}')`
    this.#name = `shard ${index} of ${count}`
    this.#start = halvesOf(start)
    this.#last = halvesOf(end - 1n)
  }

  includes(uid: string): boolean {
    const hash = hashOf(uid)
    return !isLess(hash, this.#start) && !isLess(this.#last, hash)
  }

  /**
   * Throws `PROTOCOL` if an object belongs to another shard: a server without the feature ignores the selector. The
   * field `shardInfo` of lists shows less. Lists of custom resources and of metadata lack it, and watches have no place
   * for it.
   */
  check(events: readonly (ListEvent<unknown> | WatchEvent<unknown>)[]): void {
    for (const event of events)
      if (event.type === 'put' && event.uid !== undefined && !this.includes(event.uid)) throw this.#ignored(event.key)
  }

  #ignored(key: string): SourceError {
    const remedy =
      'the option shard needs Kubernetes 1.36 or later, and every API server with --feature-gates=ShardedListAndWatch=true'
    return new SourceError(`the API server sent ${key}, which is not in ${this.#name}: ${remedy}`, { code: 'PROTOCOL' })
  }
}

function boundOf(index: number, count: number): bigint {
  return (BigInt(index) << 64n) / BigInt(count)
}

/** The server requires 16 digits; 2 to the power of 64 has 17. */
function textOf(bound: bigint): string {
  return `0x${bound.toString(16).padStart(16, '0')}`
}

function halvesOf(value: bigint): Hash64 {
  return { high: Number(value >> 32n), low: Number(value & 0xffffffffn) }
}

function isLess(a: Hash64, b: Hash64): boolean {
  return a.high < b.high || (a.high === b.high && a.low < b.low)
}

/** FNV-1a of 64 bits over the UTF-8 bytes, as in the description of `shardSelector`. */
function hashOf(text: string): Hash64 {
  let [high, low] = [0xcbf29ce4, 0x84222325]
  for (const byte of Buffer.from(text)) {
    low = (low ^ byte) >>> 0
    // Times 2 to the power of 40, plus 0x1b3.
    const product = low * 0x1b3
    high = (Math.imul(high, 0x1b3) + Math.floor(product / HALF) + (low << 8)) >>> 0
    low = product % HALF
  }
  return { high, low }
}
