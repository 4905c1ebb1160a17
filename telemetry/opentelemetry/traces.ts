import {
  type Attributes,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { State } from '../../src/contract/status.js'
import type { RunMessage } from '../../src/util/telemetry.js'
import { listen, type Messages } from './messages.js'

/** The number of commits whose spans are remembered, so that runs can link to them. */
const MAX_COMMITS = 1_000

/** The spans of sources, by the states in which they are open. */
const SPANS: Partial<Record<State, string>> = {
  listing: 'listwatch list',
  relisting: 'listwatch list',
  connecting: 'listwatch watch',
  live: 'listwatch watch',
}

/** Creates spans for lists, watches, commits and runs of controllers. None has a parent. */
export class Traces {
  readonly #tracer: Tracer
  readonly #flush: () => void
  /** The open span of each source. */
  readonly #ofSources = new Map<string, Span>()
  readonly #ofRuns = new Map<RunMessage, Span>()
  /** The spans of the last commits, by informer and position. */
  readonly #commits = new Map<string, SpanContext>()
  /** The ids of the last commits. A later one takes the place of the oldest. */
  readonly #ids: string[] = []
  #remembered = 0
  readonly #removals: readonly (() => void)[]

  /** `flush` calls `committed` for the commits that are not recorded yet. */
  constructor(tracer: Tracer, flush: () => void) {
    this.#tracer = tracer
    this.#flush = flush
    this.#removals = [
      listen('listwatch:status', (message) => this.#stateChanged(message)),
      listen('listwatch:reconcile:start', (message) => this.#runStarted(message)),
      listen('listwatch:reconcile:end', (message) => this.#runEnded(message)),
    ]
  }

  /** A commit was made, by a write from `startTime` to `endTime`. */
  committed(commit: Messages['listwatch:batch'], startTime: number, endTime: number): void {
    const { informer, source, origin, changes, version, position } = commit
    // A bookmark writes nothing.
    if (origin === 'watch' && changes === 0) return
    const attributes: Attributes = {
      'listwatch.informer': informer,
      'listwatch.source': source,
      'listwatch.origin': origin,
      'listwatch.changes': changes,
    }
    if (version !== undefined) attributes['listwatch.version'] = version
    const span = this.#tracer.startSpan('listwatch apply', { startTime, attributes }, ROOT_CONTEXT)
    if (position !== undefined && span.isRecording()) {
      this.#remember(commitId(informer, position), span.spanContext())
    }
    span.end(endTime)
  }

  #remember(id: string, span: SpanContext): void {
    const at = this.#remembered++ % MAX_COMMITS
    const oldest = this.#ids[at]
    if (oldest !== undefined) this.#commits.delete(oldest)
    this.#ids[at] = id
    this.#commits.set(id, span)
  }

  end(): void {
    for (const remove of this.#removals) remove()
    for (const span of [...this.#ofSources.values(), ...this.#ofRuns.values()]) span.end()
  }

  #stateChanged({ informer, source, status, previous }: Messages['listwatch:status']): void {
    this.#flush()
    const id = JSON.stringify([informer, source])
    const open = this.#ofSources.get(id)
    if (previous.state === 'connecting' && status.state === 'live') {
      open?.addEvent('live')
      return
    }
    if (open !== undefined) {
      if (status.state === 'backing-off' || status.state === 'failed')
        open.setStatus({ code: SpanStatusCode.ERROR, message: status.reason })
      open.end()
      this.#ofSources.delete(id)
    }
    const name = SPANS[status.state]
    if (name === undefined) return
    const attributes = { 'listwatch.informer': informer, 'listwatch.source': source, 'listwatch.reason': status.reason }
    this.#ofSources.set(id, this.#tracer.startSpan(name, { attributes }, ROOT_CONTEXT))
  }

  #runStarted(message: RunMessage): void {
    const { informer, controller, key, attempt, cause } = message
    if (cause !== undefined) this.#flush()
    const commit = cause === undefined ? undefined : this.#commits.get(commitId(informer, cause))
    const links: Link[] = commit === undefined ? [] : [{ context: commit }]
    const attributes = {
      'listwatch.informer': informer,
      ...(controller !== undefined && { 'listwatch.controller': controller }),
      'listwatch.key': key,
      'listwatch.attempt': attempt,
    }
    const span = this.#tracer.startSpan('listwatch reconcile', { links, attributes }, ROOT_CONTEXT)
    this.#ofRuns.set(message, span)
    message.around = (run) => context.with(trace.setSpan(context.active(), span), run)
  }

  #runEnded(message: RunMessage): void {
    const { result, error } = message
    const span = this.#ofRuns.get(message)
    this.#ofRuns.delete(message)
    if (result === 'failure')
      span?.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) })
    span?.end()
  }
}

function commitId(informer: string, position: string): string {
  return `${informer} ${position}`
}
