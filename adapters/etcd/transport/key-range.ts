/** The keys from `start` (inclusive) to `end` (exclusive). An `end` of one zero byte means: no end. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer
  readonly isPrefix: boolean
}

/**
 * A key: a string is encoded as UTF-8.
 *
 * @example
 * ```ts
 * const prefix = Buffer.from('0a00', 'hex') // A string such as `/limits/` is encoded as UTF-8.
 * const source = etcdSource<Limit>({ client: etcd, prefix, keys: 'bytes' })
 * ```
 */
export type KeyBytes = string | Uint8Array

const NO_END = Buffer.from([0])

export function prefixRange(prefix: KeyBytes): KeyRange {
  const start = Buffer.from(prefix)
  for (let last = start.length - 1; last >= 0; last--) {
    const byte = start[last] ?? 0xff
    if (byte < 0xff) return { start, end: Buffer.from([...start.subarray(0, last), byte + 1]), isPrefix: true }
  }
  return { start, end: NO_END, isPrefix: true }
}

/** The keys from `from` (inclusive) to `to` (exclusive); without `to`, all keys from `from` on. */
export function keyRange(from: KeyBytes, to: KeyBytes | undefined): KeyRange {
  const start = Buffer.from(from)
  // etcd rejects an empty key. The smallest key is one zero byte.
  const end = to === undefined ? NO_END : Buffer.from(to)
  return { start: start.length === 0 ? NO_END : start, end, isPrefix: false }
}

/** Whether the key that is the bytes from `from` to `to` is in the range. */
export function isInRange(
  bytes: Buffer,
  { start, end, isPrefix }: KeyRange,
  from = 0,
  to: number = bytes.length,
): boolean {
  if (isPrefix) {
    if (to - from < start.length) return false
    for (let at = 0; at < start.length; at++) if (bytes[from + at] !== start[at]) return false
    return true
  }
  const order = (limit: Buffer): number => bytes.compare(limit, 0, limit.length, from, to)
  return order(start) >= 0 && (isEndless(end) || order(end) < 0)
}

export function coverOf([first, ...others]: readonly [KeyRange, ...KeyRange[]]): KeyRange {
  return others.reduce((cover, { start, end }) => {
    const isLast = !isEndless(cover.end) && (isEndless(end) || end.compare(cover.end) > 0)
    return {
      start: start.compare(cover.start) < 0 ? start : cover.start,
      end: isLast ? end : cover.end,
      isPrefix: false,
    }
  }, first)
}

export function printable(key: KeyBytes): string {
  return JSON.stringify(Buffer.from(key).toString()).slice(1, -1)
}

export function isNothing({ start, end }: KeyRange): boolean {
  return !isEndless(end) && start.compare(end) >= 0
}

export function keyAfter(key: Buffer): Buffer {
  return Buffer.concat([key, NO_END])
}

function isEndless(end: Buffer): boolean {
  return end.length === 1 && end[0] === 0
}
