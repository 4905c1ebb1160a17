import { ABORTED, SourceError } from '../../contract/errors.js'
import type { CollectionSource } from '../../contract/shared-history.js'
import type {
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { StateName } from '../../reflector/reflector-state-types.js'
import type { CommitGroup } from '../../store/commit-group.js'
import type { HistoryMembers } from './history-members.js'

/** A list that waits for the other members is alive this often, in milliseconds. */
const ALIVE_MS = 10_000

/** A list that is read, or an open watch, which waits for the next commit of the history. */
interface Waiting {
  readonly position: Version
  readonly isList: boolean
  /** Without a batch the watch ends. */
  resolve(batch: WatchBatch<unknown> | undefined): void
  reject(reason: unknown): void
}

/**
 * The source of the reflector of one informer of a history. A list ends with the next commit of the history: its last
 * page has the changes since the list was read. A watch yields each commit. Both wait until all members are ready.
 */
export class HistoryMember implements ListerWatcher<unknown> {
  readonly name: string
  readonly heartbeatMs?: number
  readonly silenceHint?: string
  readonly hasReached?: (at: Version, mark: Version) => boolean
  readonly collection: string
  readonly members: HistoryMembers
  /** The partition of its store. Its next write is in `group`. */
  readonly part: { group: CommitGroup | undefined }
  /** Whether its store shows the last commit of the history. */
  isIn = false
  /** Whether the others continue without it. */
  hasLeft = false
  /** That of the last call. */
  context: SourceContext | undefined
  watching: WatchContext | undefined
  /** Releases the slot of a relist: others wait for it, and this member for them. */
  onRead: () => void = () => {}
  readonly #source: CollectionSource<unknown>
  #waiting: Waiting | undefined
  #isWorking = false
  /** The version of its last list, if no watch has begun since. */
  #listed: Version | undefined

  constructor(source: CollectionSource<unknown>, members: HistoryMembers, part: HistoryMember['part']) {
    this.name = source.name
    if (source.heartbeatMs !== undefined) this.heartbeatMs = source.heartbeatMs
    if (source.silenceHint !== undefined) this.silenceHint = source.silenceHint
    if (source.hasReached !== undefined) this.hasReached = (at, mark) => source.hasReached?.(at, mark) === true
    this.collection = source.collection
    this.members = members
    this.part = part
    this.#source = source
  }

  /** `working`: it has received a batch, and has not come back. `away`: its reflector does not read it now. */
  get phase(): 'waiting' | 'working' | 'away' {
    if (this.#waiting !== undefined) return 'waiting'
    return this.#isWorking ? 'working' : 'away'
  }

  /** The version from which it waits for the next commit. */
  get position(): Version | undefined {
    return this.#waiting?.position
  }

  get isListing(): boolean {
    return this.#waiting?.isList === true
  }

  async *list(context: ListContext): AsyncIterable<ListPage<unknown>> {
    this.members.assertOnly(this)
    this.context = context
    this.watching = undefined
    let version: Version | undefined
    for await (const { version: at, ...page } of this.#source.list(context)) {
      version = at ?? version
      yield page
    }
    if (version === undefined) return
    this.onRead()
    const timer = new AbortController()
    const keepAlive = async (): Promise<void> => {
      for (;;) {
        await context.clock.sleep(ALIVE_MS, timer.signal)
        context.alive?.()
      }
    }
    keepAlive().catch(() => {}) // The list has ended.
    let batch: WatchBatch<unknown> | undefined
    try {
      batch = await this.#next(version, true)
    } finally {
      timer.abort(ABORTED)
    }
    if (batch === undefined) throw new SourceError('the watch of the history ended', { code: 'UNAVAILABLE' })
    this.#listed = batch.version
    yield { events: listed(batch.events), version: batch.version }
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<unknown>> {
    this.members.assertOnly(this)
    this.context = context
    this.watching = context
    context.onProgressRequest(() => this.members.requestProgress())
    // The watch of the history is open already: it has ended the list.
    if (this.#listed === context.after && this.isIn) yield { events: [], version: context.after }
    this.#listed = undefined
    for (let position = context.after; ; ) {
      const batch = await this.#next(position, false)
      if (batch === undefined) return
      position = batch.version
      yield batch
    }
  }

  #next(position: Version, isList: boolean): Promise<WatchBatch<unknown> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<WatchBatch<unknown> | undefined>()
    this.#waiting = { position, isList, resolve, reject }
    this.#isWorking = false
    this.members.turn()
    return promise
  }

  /** Ends its wait with a batch, which its store writes in this group. */
  take(batch: WatchBatch<unknown>, group?: CommitGroup): void {
    this.part.group = group
    this.#end()?.resolve(batch)
  }

  /** Ends its wait with an error; without one its watch ends. */
  fail(error?: { readonly thrown: unknown }): void {
    const waiting = this.#end()
    if (error === undefined) waiting?.resolve(undefined)
    else waiting?.reject(error.thrown)
  }

  #end(): Waiting | undefined {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#isWorking = true
    return waiting
  }

  /** The state of its reflector has changed. */
  stateChanged(state: StateName): void {
    if (state === 'failed') this.hasLeft = true
    if (state !== 'backing-off' && state !== 'failed' && state !== 'stopped') return
    const { group } = this.part
    this.part.group = undefined
    this.#end()?.reject(ABORTED)
    this.#isWorking = false
    if (state === 'stopped') this.members.remove(this)
    else this.members.gone(this)
    group?.leave(this.part)
  }
}

/** Returns the events of a batch as those of a list, in which they override what was read. */
function listed(events: readonly WatchEvent<unknown>[]): readonly ListEvent<unknown>[] {
  return events.map((event) => {
    if (event.type !== 'replace') return event
    throw new SourceError('the collection was replaced after it was read', { code: 'UNAVAILABLE' })
  })
}
