import { LIST_STALL_MS } from '../../../src/contract/source.js'
import { FaultMix } from '../backend/fault-kinds.js'
import { drawnBody } from './item-bodies.js'
import type { RandomDecisions } from './random-decisions.js'

/** Keys that a careless store handles incorrectly. */
export const KEYS = [...'abc', '__proto__', 'constructor', '', '\u0000', '\ud800', '/', '😀', 'k'.repeat(10_000)]

/** The settings of one schedule. All of them follow from the seed. */
export interface Settings {
  /** Whether the source breaks its own promises. */
  readonly isBreach: boolean
  readonly mix: FaultMix
  readonly keys: readonly string[]
  readonly heartbeatMs: number
  readonly pageSize: number
  readonly latencyMs: number
  /** When faults are over and writes stop. */
  readonly healAtMs: number
  readonly hasOrder: boolean
  /** Whether the source knows that a mark is of a later epoch, and says that it is not reached (`isLaterEpoch`). */
  readonly comparesEpochs: boolean
  readonly hasRevisions: boolean
  readonly hasUids: boolean
  readonly sendsLastState: boolean
  /** Whether each event has an object of its own, equal to others of the same content. */
  readonly copies: boolean
  /** Whether the source sends its whole state instead of changes. */
  readonly isPolled: boolean
  readonly pollsWithChanges: boolean
  readonly ignoresAbort: boolean
  readonly onInvalid: 'omit' | 'keep-previous'
  readonly freezes: boolean
  /** Whether equal subtrees are stored once (`intern`). */
  readonly interns: boolean
  /** Whether the objects of a source that refuses access are deleted (`onAccessLost`). */
  readonly clears: boolean
  /** Whether undecodable objects are sent as objects that a schema must reject. */
  readonly hasSchema: boolean
  readonly omits: string | undefined
  readonly driftMs: number
  /** Whether a field of a stored object sometimes changes by itself; only an audit of contents finds that. */
  readonly flips: boolean
  /** How objects encode their number, besides the field; undefined: only by the field. */
  readonly body: number | undefined
  /** The number of lists that fail after each finding of an audit. */
  readonly brokenRepairs: number
  /** The audit period in milliseconds; false: no audits. */
  readonly auditMs: number | false
  /** The number of members of a group that may relist at a time; undefined: all. */
  readonly maxRelists?: number
}

/** The time within which the store must converge after the faults, in virtual milliseconds. */
const HEAL_MS = 150_000
/** The same if only an audit can repair the store, without the rest between audits. */
const AUDITED_MS = 1_000_000
/** An audit rests this many times as long as it took. Each page takes at most the stall limit of a list. */
const AUDIT_REST = 100

/** The part of schedules whose sources break their promises. */
const BREACHES = 0.25

/** With `keepsPromises`, without a breach. */
export function settingsFor(
  decisions: RandomDecisions,
  { keepsPromises = false }: { readonly keepsPromises?: boolean } = {},
): Settings {
  const is = (label: string, probability: number): boolean => decisions.chance(label, probability)
  const one = <V>(label: string, from: readonly V[]): V => decisions.pick(label, from)
  const isBreach = is('breach', BREACHES) && !keepsPromises
  const mix = new FaultMix(decisions, isBreach)
  const hasOrder = is('order', 0.9) || isBreach
  const isPolled = !isBreach && is('polled', 0.08)
  const auditMs = hasOrder && is('audits', isBreach ? 0.9 : 0.4) && one('audit period', [2_000, 5_000])
  const isAuditAlone = isBreach && auditMs !== false
  // Otherwise another list would repair the store.
  if (isAuditAlone)
    mix.exclude('expire-live', 'expire-watch', 'handler-relists', 'delete-again', 'vanish-meanwhile', 'step-throws')
  // A source without version order guarantees the order itself.
  if (!hasOrder) mix.exclude('repeat', 'repeat-older', 'stale-list')
  if (isPolled)
    mix.exclude('repeat', 'delete-again', 'merge-transactions', 'fold-transactions', 'keyless-event', 'malformed-event')
  const brokenRepairs = one('broken repairs', [0, 0, 1, 2])
  const flips = isAuditAlone && is('flips', 0.4) && decisions.take('flips#1')
  return {
    isBreach,
    mix,
    keys: pickSome(decisions, one('key count', [2, 2, 3, 4, 6])),
    heartbeatMs: one('heartbeat', [2_000, 5_000, 10_000]),
    pageSize: one('page size', [1, 2, 3, 100]),
    latencyMs: one('greatest latency', [2, 20, 20, 200]),
    healAtMs: one('length', [400, 3_000, 10_000, 10_000, 40_000]),
    hasOrder,
    comparesEpochs: is('knows later epochs', 0.3),
    hasRevisions: is('revisions', 0.7),
    hasUids: is('uids', 0.6),
    sendsLastState: is('last state', 0.5),
    copies: is('copies', 0.5) || flips,
    isPolled,
    pollsWithChanges: is('polls with changes', 0.5),
    ignoresAbort: is('deaf', 0.3),
    onInvalid: one('on invalid', ['omit', 'keep-previous']),
    freezes: is('freeze', 0.2) && !flips,
    interns: is('interns', 0.25) && !flips,
    omits: is('omits', 0.15) ? 't0' : undefined,
    flips,
    body: is('body', 0.4) && !flips && decisions.take('body#1') ? drawnBody(decisions.next('body')) : undefined,
    brokenRepairs: isAuditAlone && brokenRepairs > 0 && decisions.take('broken repairs#1') ? brokenRepairs : 0,
    clears: !isAuditAlone && is('clears', 0.5) && decisions.take('clears#1'),
    hasSchema: is('schema', 0.25) && decisions.take('schema#1'),
    auditMs,
    driftMs: one('drift', [0, 0, 0, 0.5, 5]),
  }
}

export function healsWithin({ isBreach, auditMs, keys, pageSize }: Settings): number {
  if (!isBreach || auditMs === false) return HEAL_MS
  return AUDITED_MS + AUDIT_REST * LIST_STALL_MS * Math.ceil(keys.length / pageSize)
}

function pickSome(decisions: RandomDecisions, count: number): string[] {
  const pool = [...KEYS]
  return Array.from({ length: count }, () => pool.splice(decisions.below('keys', pool.length), 1)[0] as string)
}
