import type { SourceError } from '../../../src/contract/errors.js'
import type { Item } from '../backend/history.js'
import type { InformerDriver } from '../system/informer-driver.js'
import { checkErrorReport } from './error-report-checker.js'
import { HandlerErrorChecker } from './handler-error-checker.js'

/**
 * Checks the reported errors of an informer: each handler error once (I14), and errors of an audit only if there is a
 * difference (I16).
 */
export class ErrorChecker extends HandlerErrorChecker<InformerDriver> {
  /** Thrown inside steps of the store, and not reported yet. */
  readonly #thrown = new Set<unknown>()
  /** The contents at which a step has thrown. The next attempt does not throw. */
  readonly #thrownAt = new Set<number>()
  /** Nothing throws while the store rebuilds its indexes. */
  #isUndoing = false

  /** The error that a step of the store throws at some objects, once for each. */
  defectAt({ n }: Item): Error | undefined {
    const { scenario, isStopping } = this.driver
    if (this.#isUndoing || isStopping || this.#thrownAt.has(n)) return undefined
    if (!scenario.settings.mix.strikes('step-throws', n)) return undefined
    this.#thrownAt.add(n)
    this.#isUndoing = true
    queueMicrotask(() => (this.#isUndoing = false))
    const error = new Error('thrown inside a step of the store')
    this.#thrown.add(error)
    return error
  }

  override forget(): void {
    super.forget()
    this.#thrown.clear()
  }

  /** What the store has thrown was told in a warning. */
  forgetThrown(): void {
    this.#thrown.clear()
  }

  reported(error: SourceError): void {
    const { scenario, reflectorChecker, isStopped } = this.driver
    if (isStopped) scenario.violate('I15', `an error was reported after stop() had settled: ${error.message}`)
    const { phase, message, code } = error
    scenario.note('reports', code, phase ?? '')
    checkErrorReport(scenario, error, (name) => name === this.driver.source.name)
    if (phase === 'handle') this.ofHandler(error)
    else if (this.driver.cache !== undefined && message.includes(this.driver.cache.name))
      this.driver.cache.reported(code)
    else if (message.startsWith('the audit')) this.#ofAudit(message)
    else if (phase === 'decode' && /unknown type|key is unknown/.test(message)) reflectorChecker.leftOut()
    else if (phase === 'list' || phase === 'watch') {
      reflectorChecker.failed(error)
      if (code === 'EPOCH_CHANGED' && !this.driver.isStopping) this.driver.waiters.forked()
      if (!this.driver.isStopping) this.driver.access.failed(error)
      if (this.driver.access.isCleared) reflectorChecker.accessLost()
    } else if (phase === 'apply' && this.#thrown.delete(error.cause)) this.#undone(error)
    else if (phase === 'apply') scenario.violate('crash', `the store refused something: ${message}`)
  }

  override check(): void {
    super.check()
    if (this.#thrown.size > 0)
      this.driver.scenario.violate('I14', `${this.#thrown.size} errors of the store were never reported`)
  }

  /** The step was undone, and the source is read again from the same version. */
  #undone(error: SourceError): void {
    const { scenario, reflectorChecker } = this.driver
    scenario.mark('a step of the store was undone')
    reflectorChecker.failed(error)
  }

  protected override ofHandler(error: SourceError): void {
    const { message, key = '' } = error
    if (message.includes('fell behind')) this.driver.scenario.mark('a subscription overflowed and was closed')
    if (message.includes('has not settled')) this.#slow(message, key)
    else super.ofHandler(error)
  }

  #slow(message: string, key: string): void {
    const follower = this.driver.followers.find(({ name }) => message.includes(`"${name}"`))
    if (follower?.running.delete(key) === false && !follower.isClosed)
      this.driver.scenario.violate('I14', `a handler was reported as slow twice, or before it began: ${message}`)
  }

  #ofAudit(message: string): void {
    const { scenario, reflectorChecker, informer, auditResults, source } = this.driver
    if (message.includes('could not be done')) {
      reflectorChecker.auditFailed()
      return
    }
    scenario.mark('the audit found a difference')
    auditResults.reported(source.lists)
    if (!scenario.settings.isBreach) scenario.violate('I16', `nothing is wrong, and ${message}`)
    reflectorChecker.relistRequested(informer.status.state)
  }
}
