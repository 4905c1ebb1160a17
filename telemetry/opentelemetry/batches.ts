import { type Attributes, type Histogram, type Meter, ROOT_CONTEXT } from '@opentelemetry/api'
import { systemClock } from '../../src/contract/clock.js'
import { listen, type Messages } from './messages.js'
import { attributesOf, secondsOf } from './metrics.js'
import type { Traces } from './traces.js'

const SIZES = [0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
/** More commits are not kept until they are recorded. */
const MAX_PENDING = 256
/** How long a commit is kept until it is recorded, in milliseconds. */
const MAX_DELAY_MS = 100

interface Writer {
  readonly attributes: Attributes
  /** When the write that is in progress began. */
  since: number | undefined
}

interface PendingCommit {
  readonly commit: Messages['listwatch:batch']
  readonly attributes: Attributes
  readonly since: number | undefined
  readonly endedAt: number
}

/**
 * Records the histograms and the spans of commits. It does so for many commits together: the SDK's code and data are
 * then in the processor's caches, so that a commit costs less than half.
 */
export class Batches {
  readonly #traces: Traces
  readonly #duration: Histogram
  readonly #lag: Histogram
  readonly #size: Histogram
  readonly #writers = new Map<string, Map<string, Writer>>()
  readonly #removals: readonly (() => void)[]
  #pending: PendingCommit[] = []
  readonly #ended = new AbortController()
  #isWaiting = false

  constructor(meter: Meter, traces: Traces) {
    this.#traces = traces
    this.#duration = secondsOf(meter, 'listwatch.apply.duration', 'Duration of a write to the store')
    this.#lag = secondsOf(meter, 'listwatch.batch.lag', 'Time from the commit at the source to the arrival of a batch')
    this.#size = meter.createHistogram('listwatch.batch.size', {
      description: 'Changes in a batch',
      advice: { explicitBucketBoundaries: SIZES },
    })
    this.#removals = [
      listen('listwatch:apply', (message) => {
        this.#writerOf(message).since = systemClock.now()
      }),
      listen('listwatch:batch', (message) => this.#committed(message)),
    ]
  }

  flush(): void {
    const commits = this.#pending
    if (commits.length === 0) return
    this.#pending = []
    for (const { commit, attributes } of commits) this.#size.record(commit.changes, attributes, ROOT_CONTEXT)
    for (const { commit, attributes } of commits)
      if (commit.lagMs !== undefined) this.#lag.record(commit.lagMs / 1_000, attributes, ROOT_CONTEXT)
    for (const { since, endedAt, attributes } of commits)
      if (since !== undefined) this.#duration.record((endedAt - since) / 1_000, attributes, ROOT_CONTEXT)
    for (const { commit, since, endedAt } of commits)
      if (since !== undefined) this.#traces.committed({ commit, since, endedAt })
  }

  end(): void {
    for (const remove of this.#removals) remove()
    this.#ended.abort()
    this.flush()
  }

  #committed(commit: Messages['listwatch:batch']): void {
    const writer = this.#writerOf(commit)
    const { attributes, since } = writer
    writer.since = undefined
    this.#pending.push({ commit, attributes, since, endedAt: systemClock.now() })
    if (this.#pending.length >= MAX_PENDING) this.flush()
    else this.#flushLater()
  }

  #flushLater(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    const flush = (): void => {
      this.#isWaiting = false
      this.flush()
    }
    systemClock.sleep(MAX_DELAY_MS, this.#ended.signal).then(flush, () => {})
  }

  #writerOf({ informer, source }: { readonly informer: string; readonly source: string }): Writer {
    const known = this.#writers.get(informer)?.get(source)
    if (known !== undefined) return known
    const writer: Writer = { attributes: attributesOf({ informer, source }), since: undefined }
    const ofInformer = this.#writers.get(informer)
    if (ofInformer === undefined) this.#writers.set(informer, new Map([[source, writer]]))
    else ofInformer.set(source, writer)
    return writer
  }
}
