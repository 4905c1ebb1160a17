import type { SourceError } from '../../../src/contract/errors.js'
import type { Item } from '../backend/history.js'
import type { InformerDriver } from '../system/informer-driver.js'
import { checkErrorReport } from './error-report-checker.js'

/** What an informer reports: errors of handlers once each (I14), those of the audit only where something is wrong (I16). */
export class ErrorChecker {
  readonly #drive: InformerDriver
  /** Thrown by handlers, and not reported yet. */
  readonly #planted = new Set<unknown>()
  /** Thrown inside steps of the store, and not reported yet. */
  readonly #thrown = new Set<unknown>()
  /** The objects, by content, at which a step has thrown: the next attempt does not. */
  readonly #thrownAt = new Set<number>()
  /** While the store builds its indexes again nothing throws. */
  #isUndoing = false

  constructor(drive: InformerDriver) {
    this.#drive = drive
  }

  /** An error for a handler to throw; nobody need hear of it where it belongs to somebody who has left. */
  plant(hasLeft: boolean, error = new Error('thrown by a handler')): Error {
    if (!hasLeft && !this.#drive.isStopping) this.#planted.add(error)
    return error
  }

  /** What a step of the store throws at some objects, once at each. */
  defectAt({ n }: Item): Error | undefined {
    const { stage, isStopping } = this.#drive
    if (this.#isUndoing || isStopping || this.#thrownAt.has(n)) return undefined
    if (!stage.settings.mix.strikes('step-throws', n)) return undefined
    this.#thrownAt.add(n)
    this.#isUndoing = true
    queueMicrotask(() => {
      this.#isUndoing = false
    })
    const error = new Error('thrown inside a step of the store')
    this.#thrown.add(error)
    return error
  }

  forget(): void {
    this.#planted.clear()
    this.#thrown.clear()
  }

  reported(error: SourceError): void {
    const { stage, opens, isStopped } = this.#drive
    if (isStopped) stage.violate('I15', `an error was reported after stop() had settled: ${error.message}`)
    const { phase, message, code } = error
    stage.note('reports', code, phase ?? '')
    checkErrorReport(stage, error, (name) => name === this.#drive.source.name)
    if (phase === 'handle') this.#ofHandler(error)
    else if (message.startsWith('the audit')) this.#ofAudit(message)
    else if (phase === 'decode' && /unknown type|key is unknown/.test(message)) opens.leftOut()
    else if (phase === 'list' || phase === 'watch') {
      opens.failed(error)
      if (code === 'EPOCH_CHANGED' && !this.#drive.isStopping) this.#drive.waiters.forked()
      if (!this.#drive.isStopping) this.#drive.access.failed(error)
      if (this.#drive.access.isCleared) opens.accessLost()
    } else if (phase === 'apply' && this.#thrown.delete(error.cause)) this.#undone(error)
    else if (phase === 'apply') stage.violate('crash', `the store refused something: ${message}`)
  }

  check(): void {
    const { violate } = this.#drive.stage
    if (this.#planted.size > 0) violate('I14', `${this.#planted.size} errors of handlers were never reported`)
    if (this.#thrown.size > 0) violate('I14', `${this.#thrown.size} errors of the store were never reported`)
  }

  /** The step was undone, and the source is read again from the same version. */
  #undone(error: SourceError): void {
    const { stage, opens } = this.#drive
    stage.mark('a step of the store was undone')
    opens.failed(error)
  }

  #ofHandler({ message, cause, key = '' }: SourceError): void {
    const { stage, isStopping, followers } = this.#drive
    if (message.includes('fell behind')) this.#overflowed(message)
    else if (message.includes('has not settled')) this.#slow(message, key)
    else if (cause !== undefined && !this.#planted.delete(cause)) {
      const mayBeForgotten = isStopping || followers.some((follower) => follower.isClosed)
      if (!mayBeForgotten) stage.violate('I14', `an error of a handler was reported twice: ${message}`)
    }
  }

  #slow(message: string, key: string): void {
    const follower = this.#drive.followers.find(({ name }) => message.includes(`"${name}"`))
    if (follower?.running.delete(key) === false && !follower.isClosed)
      this.#drive.stage.violate('I14', `a handler was reported as slow twice, or before it began: ${message}`)
  }

  #overflowed(message: string): void {
    const { stage, followers } = this.#drive
    stage.mark('a subscription overflowed and was closed')
    const follower = followers.find(({ name }) => message.includes(`"${name}"`))
    follower?.queue?.overflowed()
    if (follower?.mayOverflow === true) follower.isClosed = true
    else stage.violate('I12', `closed by an overflow that it was to merge: ${message}`)
  }

  #ofAudit(message: string): void {
    const { stage, opens, informer, findings, source } = this.#drive
    if (message.includes('could not be done')) {
      opens.auditFailed()
      return
    }
    stage.mark('the audit found a difference')
    findings.reported(source.lists)
    if (!stage.settings.isBreach) stage.violate('I16', `nothing is wrong, and ${message}`)
    opens.relistAsked(informer.status.state)
  }
}
