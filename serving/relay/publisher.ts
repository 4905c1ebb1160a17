import type { Clock } from '../../src/contract/clock.js'
import { ABORTED, SourceError, toSourceError } from '../../src/contract/errors.js'
import type { Leases } from '../../src/contract/leases.js'
import type { Random } from '../../src/contract/random.js'
import { RelayConflictError, type RelayStore } from '../../src/contract/relay-store.js'
import type { ListerWatcher, SourceContext } from '../../src/contract/source.js'
import type { Logger, Status } from '../../src/contract/status.js'
import type { Version } from '../../src/contract/version.js'
import { InformerEvents } from '../../src/informer/informer-events.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { RelayedMirror } from '../../src/informer/internals.js'
import { type Backoff, backoff, drawDelay, grown, reset } from '../../src/reflector/backoff.js'
import { checkWait, settleWithin, type Wait, withDeadline } from '../../src/util/deadline.js'
import { Latch } from '../../src/util/latch.js'
import { checkOptions, isPositive } from '../../src/util/validate-options.js'
import { changesTo, difference, type Expected, NOTHING } from './difference.js'
import { conflictMessage, Leadership } from './leadership.js'
import { type MirrorBatch, type MirrorPosition, MirrorStream } from './mirror-stream.js'
import { invalidOf } from './relay-cache.js'
import { HEADER_KEY, parseHeader, type RelayHeader } from './relay-texts.js'
import type { RelayServing, RelayState, RelayStatus } from './relay-types.js'
import { type Outgoing, type Reached, StoreWriter } from './store-writer.js'

/** A relay without changes reads the position of the store after this time, in milliseconds. */
const CHECK_MS = 5_000
/** Without leases, a relay that was replaced replaces the other one after this time, in milliseconds. */
const REPLACED_MS = 30_000
/** `stop` waits for a write in progress at most this time, in milliseconds. */
const STOP_GRACE_MS = 1_000

interface PublisherHost {
  readonly clock: Clock
  readonly random: Random
  readonly leases: Leases | undefined
  readonly logger: Logger | undefined
}

/** Writes the changes of a mirror to a store, one batch at a time, as long as it is the leader. */
export class Publisher<T> implements RelayServing {
  readonly #informer: Informer<T>
  readonly #mirror: RelayedMirror
  readonly #store: RelayStore
  readonly #host: PublisherHost
  readonly #events: InformerEvents
  readonly #writer: StoreWriter
  readonly #leadership: Leadership
  readonly #retry: RetryDelay
  readonly #synced = new Latch()
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  /** The changes after the content of the store, if `#isAligned`; before the first comparison, after saved content. */
  #stream: MirrorStream<T>
  /** Whether the store has what the mirror had before `#unwritten` and the next batch of the stream. */
  #isAligned = false
  /** Whether lost access clears the store: the mirror has had no content yet, and the store was not cleared. */
  #mayClear = true
  /** Aborts when access is lost while the mirror has no content. */
  readonly #refused = new AbortController()
  /** The batch whose write was not confirmed. */
  #unwritten: Outgoing | undefined
  /** The history of the mirror that the store shows. */
  #history: number | undefined
  #status: Pick<RelayStatus, 'state' | 'reason' | 'batches' | 'changes' | 'lastError'>
  #stopped: Promise<void> | undefined

  constructor(informer: Informer<T>, mirror: RelayedMirror, store: RelayStore, host: PublisherHost) {
    const { clock, random, leases, logger } = host
    this.#informer = informer
    this.#mirror = mirror
    this.#store = store
    this.#host = host
    // First, because it throws if the informer was stopped.
    const isFirst = mirror.restored === undefined
    this.#stream = new MirrorStream(informer, `relay to ${store.name}`, { hasSnapshot: false, isFirst })
    this.#events = new InformerEvents(clock, logger, () => `the relay to ${store.name}`)
    this.#writer = new StoreWriter(store, random)
    this.#leadership = new Leadership(leases, { clock, random, report: (error) => this.#events.report(error) })
    this.#retry = new RetryDelay(clock, random)
    this.#status = {
      state: 'waiting',
      reason: 'the mirror has no content yet',
      batches: 0,
      changes: 0,
      lastError: undefined,
    }
    if (mirror.onAccessLost === 'clear') {
      informer.on('status', this.#onStatus)
      this.#onStatus(informer.status)
    }
    this.#running = this.#run()
  }

  readonly #onStatus = ({ isSynced, lastError }: Status): void => {
    if (!isSynced && lastError?.code === 'UNAUTHORIZED') this.#refused.abort(ABORTED)
  }

  get status(): RelayStatus {
    const { backlog } = this.#stream
    return { ...this.#status, version: this.#writer.header?.version, backlog, replica: this.#leadership.status }
  }

  on(event: 'error', listener: (error: SourceError) => void): this {
    this.#events.on(event, listener)
    return this
  }

  off(event: 'error', listener: (error: SourceError) => void): this {
    this.#events.off(event, listener)
    return this
  }

  async synced(wait: Wait = {}): Promise<void> {
    checkWait('synced', wait)
    const why = (): string => `the relay is ${this.#status.state}: ${this.#status.reason}`
    const register = (settle: Parameters<Latch['enter']>[0]): (() => void) => {
      if (this.#status.state === 'stopped') settle.reject(stoppedError())
      return this.#synced.enter(settle)
    }
    await withDeadline(`synced of the relay to ${this.#store.name}`, wait, this.#host.clock, register, why)
  }

  async stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    checkOptions('stop', options, { drainMs: isPositive })
    this.#stopped ??= this.#stop(options.drainMs)
    await this.#stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(drainMs: number | undefined): Promise<void> {
    const { clock } = this.#host
    if (drainMs !== undefined && this.#isAligned && this.#status.state !== 'standby') {
      void this.#stream.close({ drain: true })
      this.#retry.hurry()
      await settleWithin(drainMs, this.#running, clock)
    }
    this.#stopping.abort(ABORTED)
    await settleWithin(STOP_GRACE_MS, this.#running, clock)
    await Promise.all([this.#stream.close(), this.#leadership.leave(stoppedError())])
    this.#stream.release()
    this.#informer.off('status', this.#onStatus)
    const closing = this.#store.close().catch((error: unknown) => {
      this.#events.report(toSourceError(error, { phase: 'apply', source: this.#store.name }))
    })
    await settleWithin(STOP_GRACE_MS, closing, clock)
    this.#set('stopped', 'the relay was stopped')
    this.#synced.rejectAll(stoppedError())
    this.#events.close()
  }

  #set(state: RelayState, reason: string): void {
    this.#status = { ...this.#status, state, reason }
  }

  /** Ends when the stream has ended: the informer or the relay was stopped. */
  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        const isDiscarded = await this.#hasStarted(signal)
        if (isDiscarded === undefined || (await this.#inTerm(isDiscarded, signal))) break
      } catch (error) {
        if (!signal.aborted && !this.#hasEnded) await this.#failed(error)
        if (this.#hasEnded) break
      }
    }
    // Without its informer, another relay should write.
    if (this.#stopped === undefined) void this.stop()
  }

  /** Whether the informer was stopped, and no change waits. The store may not respond for as long as it likes. */
  get #hasEnded(): boolean {
    return this.#informer.status.state === 'stopped' && this.#stream.backlog.keys === 0
  }

  /** Writes while this relay has the lease. Returns whether the stream has ended. */
  async #inTerm(isDiscarded: boolean, signal: AbortSignal): Promise<boolean> {
    const waits = (reason: string): void => {
      if (this.#hasEnded) throw stoppedError()
      this.#set('standby', reason)
    }
    const term = await this.#leadership.acquire(signal, waits)
    try {
      if (isDiscarded) await this.#clear(this.#context(term.signal))
      else await this.#lead(term.signal)
      return !isDiscarded
    } catch (error) {
      // A request that the loss of the lease has ended has an error of its own.
      term.signal.throwIfAborted()
      throw error
    } finally {
      term.end() // Another relay need not wait for the next attempt of this one.
    }
  }

  /** True if access to the source was lost before the mirror had content. Undefined if the stream has ended. */
  async #hasStarted(signal: AbortSignal): Promise<boolean | undefined> {
    const { signal: refused } = this.#mayClear ? this.#refused : new AbortController()
    try {
      const start = await this.#stream.start(AbortSignal.any([signal, refused]))
      if (start === undefined) return undefined
      this.#mayClear = false // Later the changes of the mirror clear the store.
      return false
    } catch (error) {
      if (signal.aborted || !refused.aborted) throw error
      return true
    }
  }

  /** Deletes all objects of the store, unless the source has allowed access again. */
  async #clear(context: SourceContext): Promise<void> {
    const header = this.#informer.status.isSynced ? undefined : await this.#find(context)
    if (header !== undefined) {
      await this.#writer.claim(context)
      await this.#writeDifference(NOTHING, header.epoch, { version: undefined, history: undefined }, context)
    }
    this.#mayClear = false
    this.#set('waiting', 'access to the source was lost')
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const context = this.#context(signal)
    await this.#takeOver(context)
    this.#set('live', 'the store follows the mirror')
    this.#synced.open()
    for (let checkAt = 0; ; ) {
      const batch = await this.#stream.nextWithin(CHECK_MS, context)
      if (batch === 'ended') return
      // Bookmarks of an unchanged version are not written.
      const isWritten = batch !== 'silent' && (await this.#publish(batch, context))
      if (!isWritten && batch !== 'silent' && context.clock.now() < checkAt) continue
      if (!isWritten) await this.#check(context)
      this.#retry.reset()
      checkAt = context.clock.now() + CHECK_MS
    }
  }

  /** Continues after the last write of this relay or of another one. */
  async #takeOver(context: SourceContext): Promise<void> {
    const header = await this.#find(context)
    if (this.#isAligned) {
      const outcome = this.#writer.outcome(header)
      if (outcome === 'written') this.#written(0)
      else if (outcome === 'missing' && this.#unwritten !== undefined) await this.#write(this.#unwritten, context)
      if (outcome !== 'other') return
    } else if (this.#unwritten === undefined && (await this.#resume(header, context))) return
    this.#isAligned = false
    this.#unwritten = undefined
    await this.#compare(header, context)
  }

  async #find(context: SourceContext): Promise<RelayHeader | undefined> {
    const found = await this.#store.read(HEADER_KEY, context)
    const header = parseHeader(found.text)
    this.#writer.found(found, header)
    return header
  }

  /** Takes over without a comparison, if the stream begins with the content of the store. Returns whether it does. */
  async #resume(header: RelayHeader | undefined, context: SourceContext): Promise<boolean> {
    const start = await this.#stream.start(context.signal)
    this.#history = start?.history
    // Equal versions do not prove equal content: a repair changes objects without another version.
    const invalid = this.#stream.isFirst ? invalidOf(this.#mirror.restored, this.#store, header) : undefined
    if (invalid === undefined) return false
    await this.#writer.claim(context)
    this.#stream.release()
    this.#stream.beginsWith(invalid)
    this.#isAligned = true
    return true
  }

  /** Writes what differs between the store and the mirror. */
  async #compare(header: RelayHeader | undefined, context: SourceContext): Promise<void> {
    this.#set('comparing', 'reads the store')
    try {
      const { start, isOther } = await this.#reach(header, context.signal)
      await this.#writer.claim(context) // Now another relay cannot write any more.
      const epoch = (this.#writer.header?.epoch ?? 0) + (isOther ? 1 : 0)
      await this.#writeDifference(this.#stream.expected, epoch, start, context)
      this.#history = start.history
      this.#isAligned = true
    } finally {
      this.#stream.release() // The next attempt may be days away, when this relay has the lease again.
    }
  }

  async #writeDifference(
    expected: Expected,
    epoch: number,
    position: MirrorPosition,
    context: SourceContext,
  ): Promise<void> {
    const differing = await difference(this.#store, this.#writer.position, expected, context)
    const changes = { [Symbol.iterator]: () => changesTo(differing, expected) }
    await this.#write({ changes, reached: this.#reached(epoch, position) }, context)
  }

  /**
   * Opens a stream whose content is not older than that of the store. `isOther`: the store has another history of the
   * source than the mirror, so that their versions cannot be compared.
   */
  async #reach(
    header: RelayHeader | undefined,
    signal: AbortSignal,
  ): Promise<{ start: MirrorPosition; isOther: boolean }> {
    const { source } = this.#mirror
    for (let isChecked = source.head === undefined || source.hasReached === undefined; ; ) {
      await this.#stream.close()
      const kind = { hasSnapshot: true, isFirst: false }
      this.#stream = new MirrorStream(this.#informer, `relay to ${this.#store.name}`, kind)
      const start = await this.#stream.start(signal)
      if (start === undefined) throw stoppedError()
      const [at, mark] = [start.version, header?.version]
      // With other options of the informer, objects of the same version differ.
      if (mark === undefined || header?.fingerprint !== this.#mirror.fingerprint) return { start, isOther: true }
      if (at === undefined) return { start, isOther: false } // Access was lost, and the mirror is empty.
      const order = versionOrder(source, at, mark)
      if (order === 'reached') return { start, isOther: false }
      if (order === 'behind') {
        this.#set('comparing', 'the store is ahead of the mirror: waits until the mirror has reached its version')
        await this.#informer.waitFor(mark, { signal }).catch((error: unknown) => {
          if (!(error instanceof SourceError) || error.code !== 'EPOCH_CHANGED') throw error
        })
      } else {
        if (isChecked) return { start, isOther: true }
        // The mirror may not know yet that its source has another history.
        await this.#informer.fresh({ signal })
        isChecked = true
      }
    }
  }

  /** Returns whether there was something to write. */
  async #publish({ size, changes, version, history }: MirrorBatch, context: SourceContext): Promise<boolean> {
    const { epoch = 0, version: before } = this.#writer.header ?? {}
    const isOther = history !== undefined && history !== this.#history
    if (size === 0 && version === before && !isOther) return false
    this.#history = history ?? this.#history
    const reached = this.#reached(isOther ? epoch + 1 : epoch, { version, history })
    this.#unwritten = { changes, reached }
    await this.#write(this.#unwritten, context)
    return true
  }

  async #write(outgoing: Outgoing, context: SourceContext): Promise<void> {
    this.#written(await this.#writer.write(outgoing, context))
  }

  #written(changes: number): void {
    this.#unwritten = undefined
    this.#status = { ...this.#status, batches: this.#status.batches + 1, changes: this.#status.changes + changes }
  }

  /** The engine may have lost writes, or another relay may have written. */
  async #check(context: SourceContext): Promise<void> {
    const { text, position } = await this.#store.read(HEADER_KEY, context)
    if (position !== this.#writer.position) throw new RelayConflictError(`${this.#store.name} is at another position`)
    // Keys that are removed by hand may leave the position.
    if (text === undefined) throw new RelayConflictError(`${this.#store.name} has lost its header`)
  }

  async #failed(thrown: unknown): Promise<void> {
    const { leases } = this.#host
    const error = toSourceError(thrown, { phase: 'apply', source: this.#store.name })
    const isForeign = error.code === 'CONFLICT' && (await this.#isForeign())
    const isReplaced = isForeign && leases === undefined
    const message = isForeign ? conflictMessage(error, this.#store.name, leases) : error.message
    this.#status = { ...this.#status, state: 'backing-off', reason: message, lastError: error }
    if (error.code === 'PROTOCOL') this.#isAligned = false // The same batch would be refused again.
    // The leases have reported their own error.
    if (error.code !== 'LEASE_LOST')
      this.#events.report(new SourceError(message, { code: error.code, phase: 'apply', cause: error }))
    this.#retry.progressed(this.#writer.parts)
    await this.#retry.wait(this.#stopping.signal, isReplaced ? REPLACED_MS : undefined)
  }

  async #isForeign(): Promise<boolean> {
    try {
      const { text } = await this.#store.read(HEADER_KEY, this.#context(this.#stopping.signal))
      return this.#writer.isForeign(parseHeader(text))
    } catch {
      return false
    }
  }

  #reached(epoch: number, { version }: MirrorPosition): Reached {
    const { fingerprint, resumeState, hasFiltered } = this.#mirror
    return { epoch, version, resumeState, fingerprint, hasFiltered }
  }

  #context(signal: AbortSignal): SourceContext {
    const { clock, random } = this.#host
    return { signal, clock, random, warn: (message) => this.#events.warning(message) }
  }
}

function stoppedError(): SourceError {
  return new SourceError('the relay was stopped', { code: 'STOPPED' })
}

/** How a mirror at `at` is related to a store at `mark`. `other`: they are of different histories of the source. */
function versionOrder(
  source: Pick<ListerWatcher<unknown>, 'hasReached' | 'isLaterEpoch'>,
  at: Version,
  mark: Version,
): 'reached' | 'behind' | 'other' {
  try {
    if (source.hasReached === undefined) return at === mark ? 'reached' : 'other'
    return source.hasReached(at, mark) ? 'reached' : 'behind'
  } catch {
    return source.isLaterEpoch?.(at, mark) === true ? 'behind' : 'other'
  }
}

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 10_000

/** The delays between the attempts of a relay. They double up to 10 s, until one is successful. */
class RetryDelay {
  readonly #clock: Clock
  readonly #random: Random
  #next: Backoff = backoff(FIRST_RETRY_MS, MAX_RETRY_MS)
  #parts = 0
  #hurry = new AbortController()

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  reset(): void {
    this.#next = reset(this.#next)
  }

  /** `parts`: how much was written so far. If it has grown, the next delay is the first one again. */
  progressed(parts: number): void {
    if (parts > this.#parts) this.reset()
    this.#parts = parts
  }

  hurry(): void {
    this.reset()
    this.#hurry.abort(ABORTED)
  }

  /** Waits before the next attempt. `hurry` does not shorten a fixed delay. */
  async wait(signal: AbortSignal, fixedMs?: number): Promise<void> {
    const delayMs = fixedMs ?? drawDelay(this.#next, this.#random)
    this.#next = grown(this.#next)
    this.#hurry = new AbortController()
    const ending = fixedMs === undefined ? AbortSignal.any([signal, this.#hurry.signal]) : signal
    await this.#clock.sleep(delayMs, ending).catch(() => {})
  }
}
