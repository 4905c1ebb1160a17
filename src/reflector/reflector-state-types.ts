import type { SourceError } from '../contract/errors.js'
import type { Backoff } from './backoff.js'

/** The numbers of opens after the first list. */
export interface Counts {
  readonly relists: number
  readonly reconnects: number
}

/** The data that one open leaves for the next one. */
export interface Memory extends Counts {
  /** The delay between opens. The next open follows the previous one after 0.5 to 1 times this delay. */
  readonly spacing: Backoff
  /** When the last reconnect without a delay was due. */
  readonly immediateAt: number | undefined
  /** Unconfirmed saved content. `hidden`: the next watch resumes from it, and no reader sees it. */
  readonly saved: 'hidden' | 'shown' | undefined
}

/** A list that is being read, or that is read next. */
interface ListPlan {
  /** The list ignores versions: the history was rewound or forked, or is that of another server. */
  readonly ignoreVersions: boolean
  /** The number of stale lists in a row before this one. */
  readonly staleLists: number
}

/** The next open. A watch follows a list that is in the store. */
type Next = { readonly type: 'watch' } | NextList

export interface NextList extends ListPlan {
  readonly type: 'list'
  /** No list is in the store yet. */
  readonly isFirst: boolean
}

interface Restoring extends Memory {
  readonly openedAt: number
  /** A list was requested meanwhile, or another one. */
  readonly isListWanted: boolean
  readonly attempt: number
}

export interface Listing extends Restoring, ListPlan {}

interface Watching extends Memory {
  readonly openedAt: number
  /** The watch followed no list. */
  readonly isReopened: boolean
}

interface Waiting extends Memory {
  readonly next: Next
  readonly retryAt: number
  readonly attempt: number
}

interface NotRunning extends Counts {
  readonly attempt: 0
}

interface StateData {
  idle: NotRunning
  restoring: Restoring
  listing: Listing
  relisting: Listing
  connecting: Watching & { readonly attempt: number }
  /** `liveAt`: when the watch yielded its first batch. */
  live: Watching & { readonly liveAt: number; readonly attempt: 0 }
  'backing-off': Waiting
  failed: Waiting
  stopped: NotRunning
}

export type StateName = keyof StateData

/** A state with its data. A state has only the data that later steps need. */
export type ReflectorState<Name extends StateName = StateName> = {
  [N in Name]: StateData[N] & { readonly name: N; readonly reason: string }
}[Name]

export type ListingState = ReflectorState<'listing' | 'relisting'>
export type WatchingState = ReflectorState<'connecting' | 'live'>
export type WaitingState = ReflectorState<'backing-off' | 'failed'>

interface InputData {
  start: { readonly hasCache?: boolean }
  /** The whole list, or the saved content, was committed. */
  listed: unknown
  /** There is saved content, whose version the watch can resume from. */
  restorable: unknown
  /** There is no saved content, or it is damaged. */
  unrestorable: { readonly reason: string }
  batch: unknown
  /** The watch ended without an error. */
  ended: unknown
  /** A list or a watch failed; `contactAt` is the time of the last response. */
  failed: { readonly error: SourceError; readonly contactAt: number | undefined }
  delayElapsed: unknown
  relist: { readonly reason: string }
  /** A list that waited for a relist slot begins. */
  admitted: unknown
  stop: { readonly reason: string }
}

export type InputType = keyof InputData

export type UntimedInput<Type extends InputType = InputType> = {
  [T in Type]: InputData[T] & { readonly type: T }
}[Type]

/** What happens to a reflector. Times are in milliseconds; `chance` are two draws from [0, 1). */
export type Input<Type extends InputType = InputType> = {
  [T in Type]: InputData[T] & { readonly type: T; readonly at: number; readonly chance: readonly [number, number] }
}[Type]

/** What the loop does next. `continue`: what it was doing. */
export type Effect =
  | { readonly type: 'continue' }
  | { readonly type: 'restore' }
  | { readonly type: 'list'; readonly isFirst: boolean; readonly ignoreVersions: boolean }
  | { readonly type: 'watch' }
  | { readonly type: 'wait'; readonly until: number }
  | { readonly type: 'end' }

export interface Step {
  readonly state: ReflectorState
  readonly effect: Effect
}
