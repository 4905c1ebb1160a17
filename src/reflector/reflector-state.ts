import type { SourceError } from '../contract/errors.js'
import type { State } from '../contract/status.js'
import { type Backoff, backoff, delayOf, grown, reset } from './backoff.js'

/**
 * The policy of a reflector, as one pure function: `step(state, input) → { state, effect }`. The loop in reflector.ts
 * performs the effects and knows no policy. SPEC.md has the table.
 */
export interface ReflectorState {
  readonly name: State
  /** What the next open does. */
  readonly next: 'list' | 'watch'
  /** The next list ignores versions: the history was rewound or forked, or is that of another server. */
  readonly ignoreVersions: boolean
  readonly hasListed: boolean
  /** Another list was requested while one was running. */
  readonly isListWanted: boolean
  /** The delay between opens. The next open follows the previous one after 0.5 to 1 times this delay. */
  readonly spacing: Backoff
  readonly openedAt: number | undefined
  /** The last open was a watch that followed no list. */
  readonly isReopened: boolean
  /** When the last reconnect without a delay was due. */
  readonly immediateAt: number | undefined
  /** When the watch yielded its first batch. */
  readonly liveAt: number | undefined
  readonly reason: string
  readonly error: SourceError | undefined
  readonly attempt: number
  readonly retryAt: number | undefined
  readonly staleLists: number
  readonly relists: number
  readonly reconnects: number
}

/** What happens to a reflector. Times are in milliseconds; `chance` are two draws from [0, 1). */
export type Input = { readonly at: number; readonly chance: readonly [number, number] } & (
  | { readonly type: 'start' }
  /** The whole list was committed. */
  | { readonly type: 'listed' }
  /** The watch yielded a batch. */
  | { readonly type: 'batch' }
  /** The watch ended without an error. */
  | { readonly type: 'ended' }
  /** A list or a watch failed; `contactAt` is the time of the last response. */
  | { readonly type: 'failed'; readonly error: SourceError; readonly contactAt: number | undefined }
  /** The delay is over. */
  | { readonly type: 'delayElapsed' }
  /** A relist was requested. */
  | { readonly type: 'relist'; readonly reason: string }
  /** A list that waited for a relist slot begins. */
  | { readonly type: 'admitted' }
  | { readonly type: 'stop'; readonly reason: string }
)

export type InputType = Input['type']

/** What the loop does next. `continue`: what it was doing. */
export type Effect =
  | { readonly type: 'continue' }
  | { readonly type: 'list'; readonly ignoreVersions: boolean }
  | { readonly type: 'watch' }
  | { readonly type: 'wait'; readonly until: number }
  | { readonly type: 'end' }

export interface Step {
  readonly state: ReflectorState
  readonly effect: Effect
}

/** Opens are at least this far apart, less up to half of it. */
export const INITIAL_SPACING_MS = 800
export const MAX_SPACING_MS = 30_000
/** A watch that was live for this long resets the spacing: watches that end again and again open at most once a second. */
const STABLE_MS = 1_000
/** After an error nothing opens before a draw from the upper half of this. */
export const ERROR_DELAY_MS = 800
/** The first reconnect after a break opens after a draw from [0, this): many mirrors of one server do not open at once. */
export const FIRST_RECONNECT_MS = 200
/** Reconnects without a delay are at least this far apart; others wait as after any error. */
export const FIRST_RECONNECT_EVERY_MS = 10_000
/** After this number of stale lists in a row, the reason says that the source is behind. */
const BEHIND_AFTER = 5

export const initialState: ReflectorState = {
  name: 'idle',
  next: 'list',
  ignoreVersions: false,
  hasListed: false,
  isListWanted: false,
  spacing: backoff(INITIAL_SPACING_MS, MAX_SPACING_MS),
  openedAt: undefined,
  isReopened: false,
  immediateAt: undefined,
  liveAt: undefined,
  reason: 'not started',
  error: undefined,
  attempt: 0,
  retryAt: undefined,
  staleLists: 0,
  relists: 0,
  reconnects: 0,
}

type Cell = (state: ReflectorState, input: never) => Step
type Of<Type extends InputType> = Extract<Input, { type: Type }>

/** Every state with every input; the type has no room for a missing cell. */
type Table = {
  readonly [S in State]: { readonly [Type in InputType]: (state: ReflectorState, input: Of<Type>) => Step }
}

const keep = (state: ReflectorState): Step => ({ state, effect: { type: 'continue' } })

/** A state in which a list is on its way. */
const whileListing = {
  start: keep,
  listed: afterList,
  batch: keep,
  ended: keep,
  failed: afterFailure,
  delayElapsed: keep,
  relist: wantAnotherList,
  admitted: begin,
  stop,
} as const

/** A state in which a watch is open. */
const whileWatching = {
  start: keep,
  listed: keep,
  batch: afterBatch,
  ended: afterEnd,
  failed: afterFailure,
  delayElapsed: keep,
  relist: relistNow,
  admitted: keep,
  stop,
} as const

/** A state in which the next attempt is waited for. */
const whileWaiting = {
  start: keep,
  listed: keep,
  batch: keep,
  ended: keep,
  failed: keep,
  delayElapsed: open,
  relist: relistNext,
  admitted: keep,
  stop,
} as const

export const table: Table = {
  idle: {
    start: open,
    listed: keep,
    batch: keep,
    ended: keep,
    failed: keep,
    delayElapsed: keep,
    relist: keep,
    admitted: keep,
    stop,
  },
  listing: whileListing,
  relisting: whileListing,
  connecting: whileWatching,
  live: whileWatching,
  'backing-off': whileWaiting,
  failed: whileWaiting,
  stopped: {
    start: keep,
    listed: keep,
    batch: keep,
    ended: keep,
    failed: keep,
    delayElapsed: keep,
    relist: keep,
    admitted: keep,
    stop: keep,
  },
}

export function step(state: ReflectorState, input: Input): Step {
  const cell = table[state.name][input.type] as Cell
  return cell(state, input as never)
}

/** Opens what is next, now. */
function open(state: ReflectorState, { at }: Input): Step {
  const isFirst = state.openedAt === undefined || (state.retryAt !== undefined && state.retryAt === state.immediateAt)
  const base: ReflectorState = {
    ...state,
    attempt: state.attempt + 1,
    retryAt: undefined,
    openedAt: at,
    isReopened: state.next === 'watch',
    spacing: isFirst ? state.spacing : grown(state.spacing),
  }
  if (base.next === 'watch') {
    const reconnects = base.reconnects + 1
    const reason = 'resuming the watch'
    return { state: { ...base, name: 'connecting', liveAt: undefined, reason, reconnects }, effect: { type: 'watch' } }
  }
  const effect: Effect = { type: 'list', ignoreVersions: base.ignoreVersions }
  const listing: ReflectorState = { ...base, isListWanted: false }
  if (!base.hasListed) return { state: { ...listing, name: 'listing', reason: 'reading the first list' }, effect }
  return { state: { ...listing, name: 'relisting', relists: base.relists + 1 }, effect }
}

/** The list begins only now, so it fulfils all earlier relist requests. */
function begin(state: ReflectorState, { at }: Input): Step {
  return keep({ ...state, openedAt: at, isListWanted: false })
}

/** A watch that follows a list is part of the same open. */
function afterList(state: ReflectorState, input: Input): Step {
  const listed: ReflectorState = {
    ...state,
    hasListed: true,
    ignoreVersions: false,
    staleLists: 0,
    attempt: 0,
    liveAt: undefined,
  }
  if (state.isListWanted) {
    return waitToOpen({ ...listed, isListWanted: false, next: 'list', reason: 'another list was requested' }, input)
  }
  const reason = 'the list is in; the watch was opened'
  return { state: { ...listed, name: 'connecting', next: 'watch', reason }, effect: { type: 'watch' } }
}

function afterBatch(state: ReflectorState, { at }: Input): Step {
  if (state.name === 'live') return keep(state)
  return keep({ ...state, name: 'live', liveAt: at, attempt: 0, reason: 'following the watch' })
}

function afterEnd(state: ReflectorState, input: Input): Step {
  const ended = resetIfStable(state, input.at)
  const lived = Math.round(input.at - (state.openedAt ?? input.at))
  const isUnstable = lived < state.spacing.currentMs
  const reason = isUnstable ? `unstable: the watch ended after ${lived} ms` : 'the source ended the watch'
  return waitToOpen({ ...ended, next: 'watch', reason }, input)
}

function afterFailure(state: ReflectorState, input: Of<'failed'>): Step {
  const { error, contactAt } = input
  // An expiry is an answer of the server; an error of another kind may follow a long silence.
  const heardAt = isExpiry(error) ? input.at : (contactAt ?? input.at)
  const broken: ReflectorState = { ...resetIfStable(state, heardAt), error, reason: error.message }
  switch (error.code) {
    case 'VERSION_EXPIRED':
      return waitToOpen({ ...broken, next: 'list' }, input)
    case 'EPOCH_CHANGED':
      return waitToOpen({ ...broken, next: 'list', ignoreVersions: true }, input)
    case 'STALE_LIST': {
      const staleLists = state.staleLists + 1
      const reason =
        staleLists >= BEHIND_AFTER ? `behind: ${error.message} (${staleLists} lists in a row)` : error.message
      return waitToOpen({ ...broken, next: 'list', staleLists, reason }, input)
    }
    case 'UNAUTHORIZED':
    case 'NOT_FOUND':
    case 'PROTOCOL':
      return waitToOpen(broken, input, 'failed')
    default: // Transient; or a code that only another copy of the package knows.
      return isFirstBreak(state, input) ? reconnectNow(broken, input) : waitToOpen(broken, input)
  }
}

function wantAnotherList(state: ReflectorState): Step {
  return keep({ ...state, isListWanted: true })
}

function relistNow(state: ReflectorState, input: Of<'relist'>): Step {
  const { reason } = input
  return waitToOpen({ ...resetIfStable(state, input.at), next: 'list', reason }, input)
}

function relistNext(state: ReflectorState, input: Of<'relist'>): Step {
  return keep({ ...state, next: 'list', reason: input.reason })
}

function stop(state: ReflectorState, { reason }: Of<'stop'>): Step {
  return { state: { ...state, name: 'stopped', reason, retryAt: undefined, attempt: 0 }, effect: { type: 'end' } }
}

/** A watch that was live for 1 s shows that the source is well: the next break starts from the shortest spacing. */
function resetIfStable(state: ReflectorState, at: number): ReflectorState {
  const isStable = state.liveAt !== undefined && at - state.liveAt >= STABLE_MS
  return { ...state, liveAt: undefined, spacing: isStable ? reset(state.spacing) : state.spacing }
}

/**
 * Whether this error broke a watch that worked: the connection was lost, which says nothing of the server. A watch that was
 * reopened and fails before its first batch has a server that is not well.
 */
function isFirstBreak({ name, next, isReopened, immediateAt }: ReflectorState, { at, error }: Of<'failed'>): boolean {
  const worked = next === 'watch' && (name === 'live' || !isReopened)
  const isRare = immediateAt === undefined || at - immediateAt >= FIRST_RECONNECT_EVERY_MS
  return worked && isRare && error.retryAfterMs === undefined
}

/** It does not count for the spacing: the delays after it are those of a first attempt. */
function reconnectNow(state: ReflectorState, { at, chance }: Of<'failed'>): Step {
  const until = at + FIRST_RECONNECT_MS * chance[1]
  return {
    state: { ...state, name: 'backing-off', retryAt: until, immediateAt: until },
    effect: { type: 'wait', until },
  }
}

/**
 * The one rule for opening again: the latest of the previous open + a draw from [d/2, d); after an error, the error +
 * a draw from [0.4, 0.8) s, so that no herd meets a server that restarts; and the error + the source's `retryAfterMs`.
 */
function waitToOpen(state: ReflectorState, input: Input, name: 'backing-off' | 'failed' = 'backing-off'): Step {
  const { at, chance } = input
  const spaced = isAnswered(state, input) ? at : (state.openedAt ?? at) + delayOf(state.spacing, chance[0])
  let until = Math.max(at, spaced)
  if (input.type === 'failed') {
    until = Math.max(until, at + ERROR_DELAY_MS * (0.5 + chance[1] / 2), at + (input.error.retryAfterMs ?? 0))
  }
  return { state: { ...state, name, retryAt: until }, effect: { type: 'wait', until } }
}

/**
 * Whether the server answered a reopened watch that its version cannot be resumed. The server is well, and the list
 * that this answer requires completes the same open.
 */
function isAnswered({ isReopened }: ReflectorState, input: Input): boolean {
  return isReopened && input.type === 'failed' && isExpiry(input.error)
}

function isExpiry({ code }: SourceError): boolean {
  return code === 'VERSION_EXPIRED' || code === 'EPOCH_CHANGED'
}
