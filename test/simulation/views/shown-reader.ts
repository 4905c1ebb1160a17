import type { CollectionSource } from '../../../src/contract/shared-history.js'
import type { Change } from '../../../src/index.js'
import { internalsOf } from '../../../src/informer/internals.js'
import type { Item } from '../backend/history.js'
import { nameOf } from '../system/scenario.js'
import { Follower } from '../workload/follower.js'
import { SourceFollower } from '../workload/source-follower.js'
import { collectionOf } from './collections.js'
import type { ViewModel } from './view-model.js'
import type { Reader } from './view-reads.js'
import type { ViewWorld } from './view-world.js'

/** An input or a view, with a handler. */
export class ShownReader {
  readonly name: string
  readonly reader: Reader
  readonly follower: Follower
  /** The source of an input. */
  readonly source: CollectionSource<Item> | undefined
  readonly model: ViewModel | undefined
  /** What a view reads. */
  readonly below: readonly ShownReader[]
  /** The number of objects that were different in the last look than in the one before. */
  changes = 0
  shown: ReadonlyMap<string, Item> = new Map()
  isStarted = false
  isStopped = false
  isEnded = false
  /** Whether it was stopped while a commit was written, which may still become visible. */
  isOpen = false
  deliveries = 0
  /** How often an audit has found another result. */
  findings = 0
  /** Whether its collection had left its history at the last look. */
  hasLeft = false
  #list: readonly Item[] | undefined

  constructor(
    name: string,
    reader: Reader,
    of: Pick<ShownReader, 'below'> & Partial<Pick<ShownReader, 'source' | 'model'>>,
    scenario: ViewWorld,
  ) {
    this.name = name
    this.reader = reader
    this.source = of.source
    this.model = of.model
    this.below = of.below
    const { source } = of
    this.follower =
      source === undefined
        ? new ViewFollower(scenario, name, reader)
        : new SourceFollower(scenario, name, (_, key) => collectionOf(key) === source.collection)
  }

  /** Whether something below it was stopped. */
  get isOrphan(): boolean {
    return this.below.some((each) => each.isStopped || each.isOrphan)
  }

  get roots(): readonly ShownReader[] {
    return this.source === undefined ? this.below.flatMap(({ roots }) => roots) : [this]
  }

  get isWriting(): boolean {
    return internalsOf(this.reader)?.objects.isWriting === true
  }

  /** Compares what it shows with the last look. */
  look(): void {
    const list = this.reader.list()
    this.changes = 0
    if (list === this.#list) return
    this.#list = list
    const shown = new Map(this.reader.entries())
    for (const [key, item] of shown) if (this.shown.get(key) !== item) this.changes++
    for (const key of this.shown.keys()) if (!shown.has(key)) this.changes++
    this.shown = shown
  }

  /** The view or the handler that has not finished, for a message; undefined if both have finished. */
  get unfinished(): string | undefined {
    const { state, reason } = this.reader.status
    if (state !== 'live' || reason.endsWith(' continue')) return `${this.name} (${state}) is`
    return this.follower.isQuiet ? undefined : `the handler of ${this.name} is`
  }
}

/** A handler of a view. */
class ViewFollower extends Follower {
  readonly #reader: Reader

  constructor(scenario: ViewWorld, name: string, reader: Reader) {
    super(scenario, name, () => true)
    this.#reader = reader
  }

  get isQuiet(): boolean {
    return this.isClosed || (this.subscription?.backlog.keys === 0 && this.difference === undefined)
  }

  protected override get difference(): string | undefined {
    const shown = new Map(this.#reader.entries())
    const key = [...shown.keys(), ...this.known.keys()].find((each) => shown.get(each) !== this.known.get(each))
    return key === undefined ? undefined : `${this.name} has another object at ${nameOf(key)} than its handler`
  }

  /** Results go back when what they follow from does. */
  protected override writerOf(): undefined {
    return undefined
  }

  protected override incarnationOf(_change: Change<Item>): undefined {
    return undefined
  }
}
