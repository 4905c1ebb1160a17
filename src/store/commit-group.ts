import type { Version } from '../contract/version.js'
import type { Steps } from '../util/steps.js'
import type { CommitDomain, DomainPart } from './commit.js'
import type { StoreWriter } from './store-writer.js'

/** A transaction that is written, and can still be undone. */
interface WrittenPart extends DomainPart {
  end(version: Version | undefined, committedAt: number | undefined): void
}

/** The writer of a store, whatever its objects are. */
interface GroupedWriter
  extends Pick<StoreWriter<unknown>, 'isBusy' | 'isAbandoned' | 'idle' | 'assertNotEnded' | 'undo'> {
  readonly domain: CommitDomain
  readonly store: { hold(): void; release(): void; prepareIndexes(): Steps }
}

/** A batch or a list that is written in a group. */
interface GroupedWrite {
  readonly writer: GroupedWriter
  /** About how many changes it makes. */
  readonly size: number
  /** Writes it. Returns the transaction, which is still to be ended. */
  begin(): Generator<void, WrittenPart>
  readonly version: Version | undefined
  readonly committedAt: number | undefined
}

interface PendingWrite extends GroupedWrite {
  readonly settled: PromiseWithResolvers<void>
}

/**
 * The next batches or lists of several stores, which become visible in one step. They are written when each store has
 * added its own, or has left the group. A store that cannot be written leaves it too: its write rejects, and the others
 * are committed.
 */
export class CommitGroup {
  /** The writer of an empty store, which is never ended. The group is a write of that store, too. */
  readonly #writer: StoreWriter<unknown>
  /** The partitions that have not added a write. */
  readonly #missing: Set<object>
  readonly #writes = new Map<object, PendingWrite>()
  readonly #onCommit: (written: ReadonlySet<object>) => void

  /** `onCommit` is called with the partitions that were written, when that is visible and before it is reported. */
  constructor(
    writer: StoreWriter<unknown>,
    partitions: Iterable<object>,
    onCommit: (written: ReadonlySet<object>) => void,
  ) {
    this.#writer = writer
    this.#missing = new Set(partitions)
    this.#onCommit = onCommit
  }

  /** Resolves when the write is visible. Rejects if it cannot be performed. */
  add(partition: object, write: GroupedWrite): Promise<void> {
    const settled = Promise.withResolvers<void>()
    this.#writes.set(partition, { ...write, settled })
    if (this.#missing.delete(partition) && this.#missing.size === 0) void this.#perform()
    return settled.promise
  }

  /** The partition adds nothing any more. A write that it has added is performed. */
  leave(partition: object): void {
    if (!this.#missing.delete(partition) || this.#missing.size > 0) return
    // Not now: one of the user's functions may have stopped its informer.
    void Promise.resolve().then(() => this.#perform())
  }

  async #perform(): Promise<void> {
    const writes = [...this.#writes.values()]
    if (writes.length === 0) return
    try {
      const size = writes.reduce((sum, each) => sum + each.size, 0)
      const isApart = ({ writer }: PendingWrite): boolean => writer.domain !== this.#writer.domain
      if (writes.some(isApart)) await this.#join(writes)
      const { domain, largeWrite } = this.#writer
      const isHeld = domain.hasDependents || domain.queue.isBusy || size > largeWrite
      await this.#writer.write('apply', size, () => this.#steps(isHeld))
      for (const { settled } of writes) settled.resolve()
    } catch (error) {
      for (const { settled } of writes) settled.reject(error)
    }
  }

  /** From now on all stores are in one domain. */
  async #join(writes: readonly PendingWrite[]): Promise<void> {
    const writers: readonly Pick<GroupedWriter, 'isBusy' | 'idle' | 'domain'>[] = [
      this.#writer,
      ...writes.map(({ writer }) => writer),
    ]
    for (let busy = writers.find(isBusy); busy !== undefined; busy = writers.find(isBusy)) await busy.idle()
    for (const { domain } of writers) this.#writer.domain.merge(domain)
  }

  *#steps(isHeld: boolean): Steps {
    const parts = new Map<object, WrittenPart>()
    for (const [partition, write] of this.#writes) {
      const part = yield* written(write, isHeld)
      if (part !== undefined) parts.set(partition, part)
    }
    for (const [partition, write] of this.#writes) {
      // It may have been stopped while others were written.
      if (parts.has(partition) && isRefused(write)) parts.delete(partition)
    }
    if (parts.size === 0) return
    for (const [partition, part] of parts) {
      const write = this.#writes.get(partition)
      part.end(write?.version, write?.committedAt)
    }
    yield* this.#writer.domain.commit(this.#own(new Set(parts.keys())), ...parts.values())
  }

  /** The part of the empty store. It is the first to be published and reported. */
  #own(partitions: ReadonlySet<object>): DomainPart {
    const nothing = { changes: [], memberships: [], tracked: [], version: undefined, committedAt: undefined }
    const publish = (): void => this.#writer.committed(undefined)
    const report = (): undefined => void this.#onCommit(partitions)
    return { ...nothing, origin: 'watch', writer: this.#writer, publish, report }
  }
}

function isBusy({ isBusy }: { readonly isBusy: boolean }): boolean {
  return isBusy
}

/** Performs a write. Returns undefined if that fails, or if the store is stopped meanwhile. */
function* written(write: PendingWrite, isHeld: boolean): Generator<void, WrittenPart | undefined> {
  const { store } = write.writer
  if (isRefused(write)) return undefined
  try {
    if (isHeld) store.hold()
    const steps = write.begin()
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        if (isHeld) yield* store.prepareIndexes()
        return step.value
      }
      yield
      if (isRefused(write)) return undefined
    }
  } catch (error) {
    giveUp(write, error)
    return undefined
  }
}

/** Whether the store is stopped, so that its write is given up. */
function isRefused(write: PendingWrite): boolean {
  try {
    write.writer.assertNotEnded('apply')
    return false
  } catch (error) {
    giveUp(write, error)
    return true
  }
}

/** Readers never see the write. Those of a store that was stopped see the state before from now on. */
function giveUp({ writer, settled }: PendingWrite, error: unknown): void {
  settled.reject(error)
  if (writer.isAbandoned) return
  writer.undo()
  writer.store.release()
}
