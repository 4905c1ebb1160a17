import type { ReflectorState } from '../../reflector/reflector-state-types.js'
import type { Commit } from '../../store/write/commit.js'
import { CountsByName, type FeedCounts, type SubscriptionKind } from '../../subscriptions/feed-counts.js'
import { channels } from '../../util/telemetry.js'
import type { InformerContext } from '../informer-context.js'
import type { InformerSources } from '../sources/informer-sources.js'
import type { SourceRunner } from '../sources/source-runner.js'
import type { InformerStatus } from './informer-status.js'
import { inspect } from './inspect.js'
import type { Inspection } from './inspect-types.js'
import type { Measurements, SubscriptionMeasurements } from './measurements.js'
import { informers } from './registry.js'
import { TransitionLog } from './transition-log.js'

/** The number of characters of a name that is made of the names of sources. */
const MAX_NAME = 100

/** What an informer shows of itself: inspection, metrics, and messages on diagnostics channels. */
export class Observation<S, T> {
  /** Unique among the informers of the process that were not stopped. */
  readonly name: string
  readonly #number = informers.nextNumber()
  readonly #context: InformerContext<T>
  readonly #sources: InformerSources<S, T>
  readonly #status: InformerStatus<S, T>
  readonly #transitions = new TransitionLog()
  readonly #counts = new CountsByName()

  constructor(
    context: InformerContext<T>,
    sources: InformerSources<S, T>,
    status: InformerStatus<S, T>,
    name: string | undefined,
  ) {
    this.#context = context
    this.#sources = sources
    this.#status = status
    this.name = informers.freeName(name ?? [...sources.runners.keys()].join(', ').slice(0, MAX_NAME))
  }

  /** The counts of a subscription that begins. */
  countsOf(kind: SubscriptionKind, name: string | undefined): FeedCounts {
    return this.#counts.of(kind, name).counts
  }

  stateChanged(runner: SourceRunner<S, T>, before: ReflectorState): void {
    const { name, source, title, reflector } = runner
    const { state } = reflector
    // Otherwise only saved content became stale or current.
    if (state.name !== before.name) {
      this.#context.events.log('info', `${title} is ${state.name}: ${state.reason}`, { previous: before.name })
      this.#transitions.add({
        at: this.#context.clock.now(),
        source: name,
        from: before.name,
        to: state.name,
        reason: state.reason,
      })
    }
    if (channels.status.hasSubscribers) {
      const [status, previous] = [runner.status(), runner.status(before)]
      channels.status.publish({ informer: this.name, source: source.name, status, previous })
    }
  }

  /** A list or a batch is about to be written. */
  writing({ source }: SourceRunner<S, T>): void {
    if (channels.apply.hasSubscribers) channels.apply.publish({ informer: this.name, source: source.name })
  }

  committed({ source, lagMs, counts }: SourceRunner<S, T>, { origin, changes, version, position }: Commit<T>): void {
    counts.committed(changes.length)
    if (!channels.batch.hasSubscribers) return
    const { name: informer } = this
    channels.batch.publish({ informer, source: source.name, origin, changes: changes.length, version, position, lagMs })
  }

  inspect(): Inspection {
    const sources = new Map(Array.from(this.#sources.runners, ([name, runner]) => [name, runner.status()]))
    const { view } = this.#sources
    return inspect(this.name, this.#context, this.#status.current(), sources, this.#transitions.all, view)
  }

  measure(): Measurements {
    const { clock, indexer } = this.#context
    const indexValues = new Map<string, number>()
    for (const { name, index } of indexer.declared.values())
      if (index.valueCount !== undefined) indexValues.set(name, index.valueCount)
    return {
      name: this.name,
      number: this.#number,
      now: clock.now(),
      isSynced: this.#status.current().isSynced,
      objects: indexer.size,
      invalid: indexer.invalid.size,
      indexValues,
      evaluations: this.#sources.view?.work.evaluations,
      sources: Array.from(this.#sources.runners.values(), (runner) => {
        const { name, proofs } = runner
        const { relists, batches, changes } = runner.counts
        return { name, status: runner.status(), relists, batches, changes, audits: proofs.audits }
      }),
      subscriptions: this.#measureSubscriptions(clock.now()),
    }
  }

  #measureSubscriptions(now: number): readonly SubscriptionMeasurements[] {
    const all = new Map<FeedCounts, { -readonly [K in keyof SubscriptionMeasurements]: SubscriptionMeasurements[K] }>()
    for (const { kind, name, counts } of this.#counts.all)
      all.set(counts, { kind, name, open: 0, keys: 0, oldestMs: 0, runningMs: 0, failing: 0, counts })
    for (const [{ reader, counts }, { backlog }] of this.#context.subscriptions) {
      const sum = all.get(counts)
      if (sum === undefined) continue
      sum.open++
      sum.keys += backlog.keys
      sum.oldestMs = Math.max(sum.oldestMs, backlog.oldestMs)
      sum.runningMs = Math.max(sum.runningMs, now - (reader.longestRunning?.since ?? now))
      sum.failing += reader.failing?.size ?? 0
    }
    return [...all.values()]
  }
}
