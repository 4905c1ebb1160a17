export interface GtidInterval {
  readonly first: number
  readonly last: number
}

/** Intervals, sorted and not adjacent, by their origin: the UUID of a server, or `<uuid>:<tag>`. */
export type GtidSet = ReadonlyMap<string, readonly GtidInterval[]>

export interface Gtid {
  readonly origin: string
  readonly number: number
}

/** The last transaction of each domain of MariaDB. */
export type GtidPosition = ReadonlyMap<number, DomainGtid>

export interface DomainGtid {
  readonly domain: number
  readonly server: number
  readonly sequence: number
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const TAG = /^[a-z_][a-z\d_]{0,31}$/
const GTID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?::[a-z_][a-z\d_]{0,31})?):(\d+)$/
const INTERVAL = /^(\d+)(?:-(\d+))?$/

/** Parses a set such as `<uuid>:1-5:7:tag:1-3,<uuid>:1`. Returns undefined for any other text. */
export function parseGtidSet(text: string): GtidSet | undefined {
  const found = new Map<string, GtidInterval[]>()
  for (const part of text.toLowerCase().split(',')) {
    const [uuid = '', ...fields] = part.trim().split(':')
    if (uuid === '' && fields.length === 0) continue
    if (!UUID.test(uuid)) return undefined
    let origin = uuid
    for (const field of fields) {
      const interval = intervalOf(field.trim())
      if (interval !== undefined) add(found, origin, interval)
      else if (TAG.test(field.trim())) origin = `${uuid}:${field.trim()}`
      else return undefined
    }
  }
  return new Map([...found].map(([origin, intervals]) => [origin, merged(intervals)]))
}

function intervalOf(text: string): GtidInterval | undefined {
  const [, first, last = first] = INTERVAL.exec(text) ?? []
  const interval = { first: Number(first), last: Number(last) }
  const isValid = interval.first >= 1 && interval.last >= interval.first && Number.isSafeInteger(interval.last)
  return isValid ? interval : undefined
}

/** The text of a set, as the server writes `gtid_executed`, without line breaks. */
export function formatGtidSet(set: GtidSet): string {
  let text = ''
  let before = ''
  for (const [origin, intervals] of sorted(set)) {
    const [uuid = '', tag] = origin.split(':')
    const numbers = intervals.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(':')
    if (uuid !== before) text += `${text === '' ? '' : ','}${uuid}`
    text += tag === undefined ? `:${numbers}` : `:${tag}:${numbers}`
    before = uuid
  }
  return text
}

/** Parses `<uuid>:<number>` or `<uuid>:<tag>:<number>`. Returns undefined for any other text. */
export function parseGtid(text: string): Gtid | undefined {
  const [, origin, digits] = GTID.exec(text.toLowerCase()) ?? []
  const number = Number(digits)
  return origin !== undefined && number >= 1 && Number.isSafeInteger(number) ? { origin, number } : undefined
}

export function containsGtid(set: GtidSet, { origin, number }: Gtid): boolean {
  return contains(set.get(origin), number, number)
}

export function containsSet(set: GtidSet, other: GtidSet): boolean {
  for (const [origin, intervals] of other) {
    const ours = set.get(origin)
    if (!intervals.every(({ first, last }) => contains(ours, first, last))) return false
  }
  return true
}

/** Whether one of the intervals has all these numbers. Intervals are sorted and not adjacent. */
function contains(intervals: readonly GtidInterval[] | undefined, first: number, last: number): boolean {
  let [low, high] = [0, (intervals?.length ?? 0) - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const each = intervals?.[middle]
    if (each === undefined) return false
    if (last > each.last) low = middle + 1
    else if (first < each.first) high = middle - 1
    else return true
  }
  return false
}

export function union(set: GtidSet, other: GtidSet): GtidSet {
  const both = new Map<string, readonly GtidInterval[]>(set)
  for (const [origin, intervals] of other) both.set(origin, merged([...(both.get(origin) ?? []), ...intervals]))
  return both
}

export function subtract(set: GtidSet, other: GtidSet): GtidSet {
  const rest = new Map<string, readonly GtidInterval[]>()
  for (const [origin, intervals] of set) {
    const left = (other.get(origin) ?? []).reduce((kept, gap) => kept.flatMap((each) => cut(each, gap)), intervals)
    if (left.length > 0) rest.set(origin, left)
  }
  return rest
}

export function withGtid(set: GtidSet, { origin, number }: Gtid): GtidSet {
  const intervals = set.get(origin)
  const last = intervals?.at(-1)
  // The usual case: the transaction after the last one of its origin.
  if (intervals !== undefined && last?.last === number - 1)
    return new Map(set).set(origin, [...intervals.slice(0, -1), { first: last.first, last: number }])
  return union(set, new Map([[origin, [{ first: number, last: number }]]]))
}

export function withoutGtid(set: GtidSet, { origin, number }: Gtid): GtidSet {
  return subtract(set, new Map([[origin, [{ first: number, last: number }]]]))
}

/** The bytes of a set in the command COM_BINLOG_DUMP_GTID. Servers before MySQL 8.3 do not know sets with tags. */
export function encodeGtidSet(set: GtidSet): Buffer {
  const entries = sorted(set)
  const isTagged = entries.some(([origin]) => origin.includes(':'))
  const count = BigInt(entries.length)
  const parts = [uint64(isTagged ? (1n << 56n) | (count << 8n) | 1n : count)]
  for (const [origin, intervals] of entries) {
    const [uuid = '', tag = ''] = origin.split(':')
    parts.push(Buffer.from(uuid.replaceAll('-', ''), 'hex'))
    if (isTagged) parts.push(Buffer.from([tag.length << 1]), Buffer.from(tag, 'latin1'))
    parts.push(uint64(BigInt(intervals.length)))
    for (const { first, last } of intervals) parts.push(uint64(BigInt(first)), uint64(BigInt(last) + 1n))
  }
  return Buffer.concat(parts)
}

/** Parses a position such as `0-1-17,1-2-5`. Returns undefined for any other text. */
export function parseGtidPosition(text: string): GtidPosition | undefined {
  const position = new Map<number, DomainGtid>()
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const gtid = parseDomainGtid(part.trim())
    if (gtid === undefined) return undefined
    position.set(gtid.domain, gtid)
  }
  return position
}

/** Parses `<domain>-<server>-<sequence>`. Returns undefined for any other text. */
export function parseDomainGtid(text: string): DomainGtid | undefined {
  const [, domain, server, sequence] = /^(\d+)-(\d+)-(\d+)$/.exec(text) ?? []
  const gtid = { domain: Number(domain), server: Number(server), sequence: Number(sequence) }
  return Object.values(gtid).every(Number.isSafeInteger) ? gtid : undefined
}

/** The text of a position, as the server writes `gtid_binlog_pos`, in the order of the domains. */
export function formatGtidPosition(position: GtidPosition): string {
  const gtids = [...position.values()].sort((a, b) => a.domain - b.domain)
  return gtids.map(({ domain, server, sequence }) => `${domain}-${server}-${sequence}`).join(',')
}

export function withDomainGtid(position: GtidPosition, gtid: DomainGtid): GtidPosition {
  return new Map(position).set(gtid.domain, gtid)
}

/** Whether a position is at the transaction or after it. Sequence numbers of one domain increase on all servers. */
export function hasReachedGtid(position: GtidPosition, { domain, sequence }: DomainGtid): boolean {
  return (position.get(domain)?.sequence ?? -1) >= sequence
}

function sorted(set: GtidSet): [string, readonly GtidInterval[]][] {
  return [...set].sort(([a], [b]) => (a < b ? -1 : 1))
}

function add(found: Map<string, GtidInterval[]>, origin: string, interval: GtidInterval): void {
  const intervals = found.get(origin)
  if (intervals === undefined) found.set(origin, [interval])
  else intervals.push(interval)
}

function merged(intervals: readonly GtidInterval[]): GtidInterval[] {
  const result: GtidInterval[] = []
  for (const each of intervals.toSorted((a, b) => a.first - b.first)) {
    const last = result.at(-1)
    if (last === undefined || last.last + 1 < each.first) result.push(each)
    else result[result.length - 1] = { first: last.first, last: Math.max(last.last, each.last) }
  }
  return result
}

function cut({ first, last }: GtidInterval, gap: GtidInterval): GtidInterval[] {
  const before = { first, last: Math.min(last, gap.first - 1) }
  const after = { first: Math.max(first, gap.last + 1), last }
  return [before, after].filter((each) => each.first <= each.last)
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
