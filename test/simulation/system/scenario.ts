import type { History } from '../backend/history.js'
import type { Mark } from '../runner/coverage-marks.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import type { Workload } from '../workload/workload.js'
import type { SimClock } from './sim-clock.js'

/** What a schedule can violate: an invariant of SPEC.md, or another named rule. */
export type Invariant =
  | `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17}`
  /** Opens are spaced, and the source is listed again only if necessary. */
  | 'opens'
  /** Waits end as they should. */
  | 'waits'
  /** A controller runs again what failed, neither too soon nor too late. */
  | 'retries'
  /** A controller runs a key when requested, and receives the last state of a deleted key. */
  | 'controllers'
  /** A follower reports its backlog, its age, and the longest running key. */
  | 'backlog'
  /** Each follower with a resync period receives every object once a period. */
  | 'resyncs'
  /** The laws of a queue. */
  | 'queue'
  /** Over several sources: a key belongs to one source, and is deleted with it. */
  | 'sets'
  /** A group's members start, sync and stop together, and relist within the limit. */
  | 'groups'
  /** Informers over one history show one state of it. */
  | 'histories'
  /** A rule of views. */
  | 'views'
  /** Objects of a source that refuses access are deleted if `onAccessLost` is `clear`, and kept otherwise. */
  | 'access'
  /** An error names what failed and its source, and contains no secret. */
  | 'errors'
  /** Replicas: a key has one owner at a time. */
  | 'exclusive'
  /** Replicas: the fences of a key grow. */
  | 'fenced'
  /** Replicas, relays, a share: after faults everything converges, whatever others do. */
  | 'live'
  /** Replicas send few requests. Without a cause, followers do not list, and a share packs its objects once. */
  | 'calm'
  /** A follower shows a state that its source had. */
  | 'true state'
  /** A follower never shows an older state, except after `EPOCH_CHANGED`. */
  | 'order'
  /** Another history of the source is `EPOCH_CHANGED` for followers. */
  | 'epoch'
  /** A wait for a mark ends when the follower includes it. */
  | 'wait'
  /** A share: a follower is synced when it is as new as a list. */
  | 'new'
  /** A share: indexes and reads agree. */
  | 'answers'
  /** A share: handlers receive what the follower shows. */
  | 'fold'
  /** A share: a watch that is not read has a bounded number of bytes on its way. */
  | 'bounded'
  /** A share: a closed port is `failed` with `NOT_FOUND`. */
  | 'status'
  /** A share: nothing is left when all followers are gone. */
  | 'released'
  /** A share: there is no warning. */
  | 'warning'
  /** Saved content is one state of the source, and nothing of it counts before the source has confirmed it. */
  | 'cache'
  /** `health` reports whether the informer is live and ready, and which key is stuck. */
  | 'health'
  /** An incorrect call throws immediately. */
  | 'misuse'
  /** An unexpected error. */
  | 'crash'

/** Shared by all parts of one schedule, with any number of sources. */
export interface Scenario {
  readonly clock: SimClock
  readonly decisions: RandomDecisions
  readonly settings: Settings
  /** Adds an event to the trace, and to the story if one is recorded. */
  note(what: string, ...about: readonly (string | number)[]): void
  mark(mark: Mark): void
  violate(invariant: Invariant, message: string): void
  listenersOf(signal: AbortSignal): number
}

/** Shared by all parts that use one source. */
export interface SourceScenario extends Scenario {
  readonly history: History
  readonly workload: Workload
}

const names = new Map<string, string>()

export function nameOf(key: string): string {
  let name = names.get(key)
  if (name === undefined) {
    name = key.length > 20 ? `${key.slice(0, 3)}… (${key.length})` : JSON.stringify(key)
    names.set(key, name)
  }
  return name
}
