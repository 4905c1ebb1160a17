import { OptionError, SourceError } from '../contract/errors.js'
import { type Backoff, backoff, delayOf, grown, reset } from './backoff.js'

/** The numbers of opens after the first list. */
interface Counts {
  readonly relists: number
  readonly reconnects: number
}

/** The data that one open leaves for the next one. */
interface Memory extends Counts {
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

interface NextList extends ListPlan {
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

interface Listing extends Restoring, ListPlan {}

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

type ListingState = ReflectorState<'listing' | 'relisting'>
type WatchingState = ReflectorState<'connecting' | 'live'>
type WaitingState = ReflectorState<'backing-off' | 'failed'>

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

/** Opens are at least this far apart, less up to half of it. */
export const INITIAL_SPACING_MS = 800
export const MAX_SPACING_MS = 30_000
/** Watches that end again and again open at most this often. */
const STABLE_MS = 1_000
/** After an error nothing opens before a draw from the upper half of this. */
export const ERROR_DELAY_MS = 800
/** The first reconnect opens after a draw from [0, this): many mirrors of one server do not open at once. */
export const FIRST_RECONNECT_MS = 200
/** Reconnects without a delay are at least this far apart; others wait as after any error. */
export const FIRST_RECONNECT_EVERY_MS = 10_000
/** After this number of stale lists in a row, the reason says that the source is behind. */
const BEHIND_AFTER = 5

const initialMemory: Memory = {
  spacing: backoff(INITIAL_SPACING_MS, MAX_SPACING_MS),
  immediateAt: undefined,
  saved: undefined,
  relists: 0,
  reconnects: 0,
}
const FIRST_LIST: NextList = { type: 'list', isFirst: true, ignoreVersions: false, staleLists: 0 }
const RELIST: NextList = { ...FIRST_LIST, isFirst: false }

export const initialState: ReflectorState = {
  name: 'idle',
  reason: 'not started',
  attempt: 0,
  relists: 0,
  reconnects: 0,
}

/** One state with every input; the type has no room for a missing cell. */
type Row<Name extends StateName> = {
  readonly [Type in InputType]: (state: ReflectorState<Name>, input: Input<Type>) => Step
}
type Table = { readonly [Name in StateName]: Row<Name> }

const keep = (state: ReflectorState): Step => ({ state, effect: { type: 'continue' } })

const atRest = {
  start: keep,
  restorable: keep,
  unrestorable: keep,
  listed: keep,
  batch: keep,
  ended: keep,
  failed: keep,
  delayElapsed: keep,
  relist: keep,
  admitted: keep,
  stop: keep,
} as const

const whileListing = {
  ...atRest,
  listed: afterList,
  failed: afterFailure,
  relist: wantAnotherList,
  admitted: begin,
  stop,
} as const

const whileWatching = {
  ...atRest,
  unrestorable: listInstead,
  listed: show,
  batch: afterBatch,
  ended: afterEnd,
  failed: afterFailure,
  relist: relistNow,
  stop,
} as const

const whileWaiting = {
  ...atRest,
  listed: showWhileWaiting,
  delayElapsed: open,
  relist: relistNext,
  stop,
} as const

export const table: Table = {
  idle: { ...atRest, start: openFirst, stop },
  restoring: {
    ...atRest,
    restorable: resume,
    unrestorable: listInstead,
    listed: resumeShown,
    relist: wantAnotherList,
    stop,
  },
  listing: whileListing,
  relisting: whileListing,
  connecting: whileWatching,
  live: whileWatching,
  'backing-off': whileWaiting,
  failed: whileWaiting,
  stopped: atRest,
}

/** The policy, as a pure function. The loop in reflector.ts performs the effects. SPEC.md has the table. */
export function step<Name extends StateName, Type extends InputType>(
  state: ReflectorState<Name>,
  input: Input<Type>,
): Step {
  const row: Row<Name> = table[state.name]
  return row[input.type](state, input)
}

function openFirst({ reason }: ReflectorState<'idle'>, { at, hasCache }: Input<'start'>): Step {
  const opened: Opened = { ...initialMemory, openedAt: at, attempt: 1 }
  if (hasCache !== true) return openList(FIRST_LIST, opened, reason)
  return {
    state: { ...opened, name: 'restoring', isListWanted: false, reason: 'reading the saved content' },
    effect: { type: 'restore' },
  }
}

/** Resumes the watch from saved content. It counts as reopened: nothing shows yet that the source is well. */
function resume(state: ReflectorState<'restoring'>, input: Input): Step {
  if (state.isListWanted) return listInstead(state, input)
  const { openedAt, attempt } = state
  const reason = 'resuming the watch from the saved content'
  return {
    state: { ...memoryOf(state), saved: 'hidden', name: 'connecting', openedAt, attempt, isReopened: true, reason },
    effect: { type: 'watch' },
  }
}

/** The same if readers see the saved content already. */
function resumeShown(state: ReflectorState<'restoring'>, input: Input): Step {
  const shown: ReflectorState<'restoring'> = { ...state, saved: 'shown' }
  if (state.isListWanted) return waitToOpen(shown, { next: RELIST, reason: 'a list was requested' }, input)
  const resumed = resume(state, input)
  return { ...resumed, state: { ...resumed.state, saved: 'shown' } as ReflectorState }
}

/** The saved content is missing, damaged or not wanted: the first list follows at once. */
function listInstead(state: ReflectorState<'restoring'> | WatchingState, { at }: Input): Step {
  if (state.name !== 'restoring' && state.saved !== 'hidden') return keep(state)
  return openList(FIRST_LIST, { ...memoryOf(state), openedAt: at, attempt: 1 }, state.reason)
}

/** Saved content that the source has confirmed is in the store now. */
function show(state: WatchingState): Step {
  return keep(state.saved === 'hidden' ? { ...state, saved: undefined } : state)
}

/** The same, if the watch was ended meanwhile. A list that is next is not the first one any more. */
function showWhileWaiting(state: WaitingState): Step {
  if (state.saved !== 'hidden') return keep(state)
  const next = state.next.type === 'list' ? { ...state.next, isFirst: false } : state.next
  return keep({ ...state, next, saved: undefined })
}

function open(state: WaitingState, { at }: Input): Step {
  const { next, reason } = state
  const isImmediate = state.retryAt === state.immediateAt
  const opened: Opened = {
    ...memoryOf(state),
    openedAt: at,
    attempt: state.attempt + 1,
    spacing: isImmediate ? state.spacing : grown(state.spacing),
  }
  if (next.type === 'list') return openList(next, opened, reason)
  const reconnects = opened.reconnects + 1
  return {
    state: { ...opened, name: 'connecting', isReopened: true, reason: 'resuming the watch', reconnects },
    effect: { type: 'watch' },
  }
}

type Opened = Memory & Pick<Listing, 'openedAt' | 'attempt'>

function openList({ isFirst, ignoreVersions, staleLists }: NextList, opened: Opened, reason: string): Step {
  const effect: Effect = { type: 'list', isFirst, ignoreVersions }
  const saved = isFirst ? undefined : opened.saved
  const listing: Listing = { ...opened, saved, ignoreVersions, staleLists, isListWanted: false }
  if (isFirst) return { state: { ...listing, name: 'listing', reason: 'reading the first list' }, effect }
  return { state: { ...listing, name: 'relisting', reason, relists: opened.relists + 1 }, effect }
}

/** The list begins only now, so it fulfils all earlier relist requests. */
function begin(state: ListingState, { at }: Input): Step {
  return keep({ ...state, openedAt: at, isListWanted: false })
}

/** A watch that follows a list is part of the same open. */
function afterList(state: ListingState, input: Input): Step {
  if (state.isListWanted) {
    const plan: Plan = { next: RELIST, reason: 'another list was requested' }
    return waitToOpen({ ...state, saved: undefined, attempt: 0 }, plan, input)
  }
  const memory: Memory = { ...memoryOf(state), saved: undefined }
  const { openedAt } = state
  const reason = 'the list is in; the watch was opened'
  return {
    state: { ...memory, name: 'connecting', openedAt, isReopened: false, attempt: 0, reason },
    effect: { type: 'watch' },
  }
}

function afterBatch(state: WatchingState, { at }: Input): Step {
  if (state.name === 'live') return keep(state)
  return keep({ ...state, saved: undefined, name: 'live', liveAt: at, attempt: 0, reason: 'following the watch' })
}

function afterEnd(state: WatchingState, input: Input): Step {
  const lived = Math.round(input.at - state.openedAt)
  const isUnstable = lived < state.spacing.currentMs
  const reason = isUnstable ? `unstable: the watch ended after ${lived} ms` : 'the source ended the watch'
  return waitToOpen(state, { next: { type: 'watch' }, reason }, input)
}

function afterFailure(state: ListingState | WatchingState, input: Input<'failed'>): Step {
  const { error } = input
  const list = nextList(state)
  const again: Plan = { next: isWatching(state) ? { type: 'watch' } : list, reason: error.message }
  switch (error.code) {
    case 'VERSION_EXPIRED':
      return waitToOpen(state, { ...again, next: list }, input)
    case 'EPOCH_CHANGED':
      return waitToOpen(state, { ...again, next: { ...list, ignoreVersions: true } }, input)
    case 'STALE_LIST': {
      const staleLists = list.staleLists + 1
      const reason =
        staleLists >= BEHIND_AFTER ? `behind: ${error.message} (${staleLists} lists in a row)` : error.message
      return waitToOpen(state, { next: { ...list, staleLists }, reason }, input)
    }
    case 'UNAUTHORIZED':
    case 'NOT_FOUND':
    case 'PROTOCOL':
      return waitToOpen(state, again, input, 'failed')
    default: // Transient; or a code that only another copy of the package knows.
      return isFirstBreak(state, input) ? reconnectNow(state, again, input) : waitToOpen(state, again, input)
  }
}

function wantAnotherList(state: ListingState | ReflectorState<'restoring'>): Step {
  return keep({ ...state, isListWanted: true })
}

function relistNow(state: WatchingState, input: Input<'relist'>): Step {
  return waitToOpen(state, { next: nextList(state), reason: input.reason }, input)
}

function relistNext(state: WaitingState, { reason }: Input<'relist'>): Step {
  return keep({ ...state, next: state.next.type === 'list' ? state.next : nextListOf(state), reason })
}

function stop({ relists, reconnects }: Counts, { reason }: Input<'stop'>): Step {
  return { state: { name: 'stopped', reason, attempt: 0, relists, reconnects }, effect: { type: 'end' } }
}

type OpenState = ListingState | WatchingState | ReflectorState<'restoring'>

function memoryOf({ spacing, immediateAt, saved, relists, reconnects }: Memory): Memory {
  return { spacing, immediateAt, saved, relists, reconnects }
}

/** A list instead of a resume. If no reader has seen the saved content, it is the first list. */
function nextListOf({ saved }: Memory): NextList {
  return saved === 'hidden' ? FIRST_LIST : RELIST
}

function isWatching(state: OpenState): state is WatchingState {
  return state.name === 'connecting' || state.name === 'live'
}

/** The list that is opened next, if a list is. A list that failed is repeated. */
function nextList(state: ListingState | WatchingState): NextList {
  if (isWatching(state)) return nextListOf(state)
  const { name, ignoreVersions, staleLists } = state
  return { type: 'list', isFirst: name === 'listing', ignoreVersions, staleLists }
}

/** A watch that was live for 1 s shows that the source is well: the next break starts from the shortest spacing. */
function resetIfStable(state: OpenState, at: number): Memory {
  const isStable = state.name === 'live' && at - state.liveAt >= STABLE_MS
  return { ...memoryOf(state), spacing: isStable ? reset(state.spacing) : state.spacing }
}

/** When the source responded last. An expiry is a response; an error of another kind may follow a long silence. */
function heardAt(input: Input): number {
  if (input.type !== 'failed' || isExpiry(input.error)) return input.at
  return input.contactAt ?? input.at
}

/** Whether this error broke a watch that worked: that says nothing of the server, unlike a reopened one that fails. */
function isFirstBreak(state: ListingState | WatchingState, { at, error }: Input<'failed'>): boolean {
  const { immediateAt } = state
  const worked = isWatching(state) && (state.name === 'live' || !state.isReopened)
  const isRare = immediateAt === undefined || at - immediateAt >= FIRST_RECONNECT_EVERY_MS
  return worked && isRare && error.retryAfterMs === undefined
}

/** The next open, and why it is waited for. */
type Plan = Pick<WaitingState, 'next' | 'reason'>

/** It does not count for the spacing: the delays after it are those of a first attempt. */
function reconnectNow(state: ListingState | WatchingState, plan: Plan, input: Input<'failed'>): Step {
  const until = input.at + FIRST_RECONNECT_MS * input.chance[1]
  const memory: Memory = { ...resetIfStable(state, heardAt(input)), immediateAt: until }
  return {
    state: { ...memory, ...plan, name: 'backing-off', attempt: state.attempt, retryAt: until },
    effect: { type: 'wait', until },
  }
}

/**
 * The one rule for opening again: the latest of the previous open + a draw from [d/2, d); after an error, the error +
 * a draw from [0.4, 0.8) s, so that no herd meets a server that restarts; and the error + the source's `retryAfterMs`.
 */
function waitToOpen(state: OpenState, plan: Plan, input: Input, name: 'backing-off' | 'failed' = 'backing-off'): Step {
  const { at, chance } = input
  const memory = resetIfStable(state, heardAt(input))
  const spaced = isAnswered(state, input) ? at : state.openedAt + delayOf(memory.spacing, chance[0])
  let until = Math.max(at, spaced)
  if (input.type === 'failed') {
    until = Math.max(until, at + ERROR_DELAY_MS * (0.5 + chance[1] / 2), at + (input.error.retryAfterMs ?? 0))
  }
  return {
    state: { ...memory, ...plan, name, attempt: state.attempt, retryAt: until },
    effect: { type: 'wait', until },
  }
}

/** The server is well. The list that this answer to a reopened watch requires completes the same open. */
function isAnswered(state: OpenState, input: Input): boolean {
  return isWatching(state) && state.isReopened && input.type === 'failed' && isExpiry(input.error)
}

export function isExpiry(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'VERSION_EXPIRED' || error.code === 'EPOCH_CHANGED')
}

/** Returns the error to report. Its message says what failed, of which source, and what happens next. */
export function failureReport(
  error: SourceError,
  state: ReflectorState,
  now: number,
  title: string = error.source ?? '',
): SourceError {
  // The retry may be due already.
  const inSeconds = ('retryAt' in state ? Math.max(0, state.retryAt - now) / 1_000 : 0).toFixed(1)
  const isWatchNext = 'next' in state && state.next.type === 'watch'
  const mistake = error.cause instanceof OptionError ? 'a mistake in the program; ' : ''
  const then = `${mistake}${isWatchNext ? 'reconnecting' : 'listing again'}`
  const message = `${error.phase} of ${title} failed: ${error.message}; ${then} in ${inSeconds} s`
  const { code, phase, source, key, retryAfterMs } = error
  return new SourceError(message, { code, cause: error.cause ?? error, retryAfterMs, key, phase, source })
}
