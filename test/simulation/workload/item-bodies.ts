import type { Item } from '../backend/history.js'
import { mix } from './random-decisions.js'

/** An instance of a user's class. */
class Boxed {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Other schedules set the clock, which replaces `Date`. */
const OwnDate = Date
const POOLED = 256
const pools = new Map<number, ArrayBuffer>()

/** The bytes of a number: of neighbours in one buffer, or far from its beginning in one of their own. */
function bytesOf(n: number, isCopy: boolean): { readonly buffer: ArrayBuffer; readonly at: number } {
  if (isCopy) {
    const buffer = new ArrayBuffer(24)
    new DataView(buffer).setFloat64(16, n)
    return { buffer, at: 16 }
  }
  const nth = Math.floor(n / POOLED)
  let pool = pools.get(nth)
  if (pool === undefined) {
    pool = new ArrayBuffer(8 * POOLED)
    const view = new DataView(pool)
    for (let at = 0; at < POOLED; at++) view.setFloat64(8 * at, nth * POOLED + at)
    if (pools.size > 1_000) pools.clear()
    pools.set(nth, pool)
  }
  return { buffer: pool, at: 8 * (n - nth * POOLED) }
}

/**
 * Ways to encode a number that only a comparison of contents distinguishes. With `isCopy`, the result is an equal other
 * object.
 */
const BODIES: readonly ((n: number, isCopy: boolean) => unknown)[] = [
  (n, isCopy) => {
    const { buffer, at } = bytesOf(n, isCopy)
    return new Uint8Array(buffer, at, 8)
  },
  (n, isCopy) => {
    const { buffer, at } = bytesOf(n, isCopy)
    return { view: new DataView(buffer, at, 8) }
  },
  (n) => [Float64Array.of(0, n), []],
  (n) => BigInt64Array.of(1n, BigInt(n)),
  (n) => new Map<unknown, unknown>(Object.entries({ a: [], b: { n } })),
  (n) => new Map([[`k${n}`, undefined]]),
  (n) => new Set<unknown>(['a', n]),
  (n) => ({ at: new OwnDate(n) }),
  (n) => [[], [[[n]]]],
  (n) => [n, ...Array.from({ length: n % 3 }, () => undefined)],
  (n) => ({ [`p${n}`]: undefined }),
  (n) => ({ big: BigInt(n), none: [] }),
  (n) => Object.assign(Object.create(null), { n }),
  (n) => new Boxed({ n }),
  (n) => ({ text: `n${n}`, nan: Number.NaN }),
  (n) => (n % 2 === 0 ? { a: n } : { b: n }),
]

export function drawnBody(number: number): number {
  return Math.floor(number * BODIES.length)
}

/** An object that only its body distinguishes: its number is not enumerable. */
export function withBody(item: Item, body: number | undefined, isCopy: boolean): Item {
  if (body === undefined) return item
  const value = BODIES[body]?.(item.n, isCopy && mix(item.n) % 2 === 0)
  return Object.defineProperty({ ...item, body: value }, 'n', {
    value: item.n,
    enumerable: false,
    writable: false,
    configurable: true,
  })
}

export function changed(item: Item, fields: Partial<Item>): Item {
  const copy = { ...item, ...fields }
  if (Object.hasOwn(copy, 'n')) return copy
  return Object.defineProperty(copy, 'n', { value: item.n, enumerable: false, configurable: true })
}
