import type { SourceErrorCode } from '../contract/errors.js'

/** The reasons of relists as labels of metrics. All others are labelled by the code of the last error. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['requested by relist()', 'requested'],
  ['another list was requested', 'requested'],
  ['a list was requested', 'requested'],
  ['the audit found a difference', 'audit'],
  ['another source released a key', 'released_key'],
  ['an object came without a key', 'incomplete'],
  ['an event of an unknown type came', 'incomplete'],
])

const CODES: ReadonlySet<string> = new Set<SourceErrorCode>([
  'VERSION_EXPIRED',
  'EPOCH_CHANGED',
  'STALE_LIST',
  'UNAVAILABLE',
  'UNAUTHORIZED',
  'NOT_FOUND',
  'PROTOCOL',
  'DECODE',
  'TIMEOUT',
])

/**
 * The labels that are exported as 0 before the first relist: PromQL's `increase` does not see a series that begins with
 * 1. Others are rare, and most of them leave the source in the state `failed`.
 */
const FROM_START: readonly string[] = [
  'requested',
  'audit',
  'version_expired',
  'epoch_changed',
  'stale_list',
  'unavailable',
  'timeout',
  'incomplete',
  'released_key',
]

/** The counters of one source. */
export class SourceCounts {
  readonly relists: Map<string, number> = new Map(FROM_START.map((label) => [label, 0]))
  batches = 0
  changes = 0

  /** A relist began for this reason. `code` is that of the last error of the source. */
  relisting(reason: string, code: string | undefined): void {
    const label = REASONS.get(reason) ?? (code !== undefined && CODES.has(code) ? code.toLowerCase() : 'other')
    this.relists.set(label, (this.relists.get(label) ?? 0) + 1)
  }

  committed(changes: number): void {
    this.batches++
    this.changes += changes
  }
}
