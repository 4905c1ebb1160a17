import { Audit, type AuditedSource } from './audit.js'
import type { InformerContext } from './informer-context.js'

/** The audits of one source: periodic ones, or only those that prove a version for a wait. */
export class SourceAudits<S, T> {
  readonly #audited: AuditedSource<S, T>
  readonly #context: InformerContext<T>
  readonly #signal: AbortSignal
  #audit: Audit<S, T> | undefined
  #running: Promise<void> | undefined

  /** The period is in milliseconds; with false there are no periodic audits. `signal` ends the audits. */
  constructor(
    audited: AuditedSource<S, T>,
    context: InformerContext<T>,
    periodMs: number | false,
    signal: AbortSignal,
  ) {
    this.#audited = audited
    this.#context = context
    this.#signal = signal
    if (periodMs !== false) this.#audit = new Audit(audited, context, periodMs)
  }

  /** Resolves when the source has closed the last read. */
  get ended(): Promise<void> | undefined {
    return this.#running
  }

  /** Begins the periodic audits. */
  start(): void {
    this.#running = this.#audit?.run(this.#signal)
  }

  request(contents: boolean): void {
    this.#audit?.request(contents)
  }

  /** Without periodic audits the store is compared only when the source requests a proof. */
  prove(): void {
    if (this.#audit === undefined) {
      this.#audit = new Audit(this.#audited, this.#context, Infinity)
      this.#running = this.#audit.run(this.#signal)
    }
    this.#audit.prove()
  }
}
