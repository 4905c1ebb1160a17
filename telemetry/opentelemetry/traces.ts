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
import type { MirrorState } from '../../src/contract/status.js'
import type { RunMessage } from '../../src/util/telemetry.js'
import { listen, type Messages } from './messages.js'

/** The number of commits that are remembered, so that runs can link to them. */
const MAX_COMMITS = 1_000

/** A commit that was made by a write to the store. */
export interface Write {
  readonly commit: Messages['listwatch:batch']
  readonly since: number
  readonly endedAt: number
}

/** The spans of sources, by the states in which they are open. */
const SPANS: Partial<Record<MirrorState, string>> = {
  listing: 'listwatch list',
  relisting: 'listwatch list',
  connecting: 'listwatch watch',
  live: 'listwatch watch',
}

/**
 * Creates spans for lists, watches, commits and runs of controllers. None has a parent. A commit whose write was short
 * has one only if a run links to it: a busy source would otherwise have thousands a second.
 */
export class Traces {
  readonly #tracer: Tracer
  readonly #minApplyMs: number
  readonly #flush: () => void
  readonly #ofSources = new Map<string, Span>()
  readonly #ofRuns = new Map<RunMessage, Span>()
  /** The last commits by informer and position: the span, or the write if it has no span. */
  readonly #commits = new Map<string, SpanContext | Write>()
  /** The ids of the last commits. A later one takes the place of the oldest. */
  readonly #ids: string[] = []
  #remembered = 0
  readonly #removals: readonly (() => void)[]

  /** `flush` calls `committed` for the commits that are not recorded yet. */
  constructor(tracer: Tracer, minApplyMs: number, flush: () => void) {
    this.#tracer = tracer
    this.#minApplyMs = minApplyMs
    this.#flush = flush
    this.#removals = [
      listen('listwatch:status', (message) => this.#stateChanged(message)),
      listen('listwatch:reconcile:start', (message) => this.#runStarted(message)),
      listen('listwatch:reconcile:end', (message) => this.#runEnded(message)),
    ]
  }

  /** Creates the span of a commit, or remembers the write so that a run can link to it. */
  committed(write: Write): void {
    const { informer, origin, changes, position } = write.commit
    // A bookmark writes nothing.
    if (origin === 'watch' && changes === 0) return
    const isShort = write.endedAt - write.since < this.#minApplyMs
    const span = isShort ? write : this.#spanOf(write)
    if (position !== undefined && span !== undefined) this.#remember(commitId(informer, position), span)
  }

  /** Creates the span of a commit. Returns undefined if it is not recorded. */
  #spanOf({ commit, since, endedAt }: Write): SpanContext | undefined {
    const { informer, source, origin, changes, version } = commit
    const attributes: Attributes = {
      'listwatch.informer': informer,
      'listwatch.source': source,
      'listwatch.origin': origin,
      'listwatch.changes': changes,
    }
    if (version !== undefined) attributes['listwatch.version'] = version
    const span = this.#tracer.startSpan('listwatch apply', { startTime: since, attributes }, ROOT_CONTEXT)
    const linked = span.isRecording() ? span.spanContext() : undefined
    span.end(endedAt)
    return linked
  }

  #remember(id: string, span: SpanContext | Write): void {
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
    const { informer, controller, key, attempt, cause, around } = message
    const linked = cause === undefined ? undefined : this.#linked(commitId(informer, cause))
    const links: Link[] = linked === undefined ? [] : [{ context: linked }]
    const attributes = {
      'listwatch.informer': informer,
      ...(controller !== undefined && { 'listwatch.controller': controller }),
      'listwatch.key': key,
      'listwatch.attempt': attempt,
    }
    const span = this.#tracer.startSpan('listwatch reconcile', { links, attributes }, ROOT_CONTEXT)
    this.#ofRuns.set(message, span)
    message.around = (run) =>
      context.with(trace.setSpan(context.active(), span), around === undefined ? run : () => around(run))
  }

  #linked(id: string): SpanContext | undefined {
    this.#flush()
    const known = this.#commits.get(id)
    if (known === undefined || !('commit' in known)) return known
    const span = this.#spanOf(known)
    if (span === undefined) this.#commits.delete(id)
    else this.#commits.set(id, span)
    return span
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
