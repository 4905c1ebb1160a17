import type { SourceError } from '../../../src/contract/errors.js'
import { checkErrorReport } from '../checkers/error-report-checker.js'
import { HandlerErrorChecker } from '../checkers/handler-error-checker.js'
import type { SetDriver } from './set-driver.js'

/** Checks the reported errors of an informer over a set: each names its source. */
export class SetErrorChecker extends HandlerErrorChecker<SetDriver> {
  reported(error: SourceError): void {
    const { scenario, members } = this.driver
    const { phase, message, code, source } = error
    scenario.note('reports', code, phase ?? '', source ?? '')
    checkErrorReport(scenario, error, (name) => this.#isSource(name))
    if (phase === 'handle') this.ofHandler(error)
    else if (message.startsWith('the audit')) this.#ofAudit(message)
    else if (message.startsWith('another source of the set')) {
      scenario.mark('two sources had the same key')
      if (!members.overlap) scenario.violate('sets', `keys are disjoint, and ${message}`)
    } else if (phase === 'decode' && /unknown type/.test(message)) members.named(source)?.reflectorChecker?.leftOut()
    else if (phase === 'list' || phase === 'watch') this.#ofSource(error)
    else if (phase === 'apply') scenario.violate('crash', `the store refused something: ${message}`)
  }

  /** One of the set, or all of them. */
  #isSource(name = ''): boolean {
    return name.startsWith('the sources ') || this.driver.members.named(name) !== undefined
  }

  #ofSource(error: SourceError): void {
    const { scenario, members, stateOf } = this.driver
    const member = members.named(error.source)
    if (member?.reflectorChecker === undefined) {
      scenario.violate('sets', `an error of ${error.source}, which is not read: ${error.message}`)
      return
    }
    member.reflectorChecker.failed(error)
    if (!this.driver.isStopping) member.access?.failed(error)
    if (member.access?.isCleared) member.reflectorChecker.accessLost()
    if (members.current.some(({ name }) => stateOf(name) === 'live'))
      scenario.mark('a source failed while another was live')
  }

  #ofAudit(message: string): void {
    const { scenario, members, stateOf } = this.driver
    if (message.includes('could not be done')) return
    const member = members.all.find(({ name }) => message.startsWith(`the audit of ${name} `))
    scenario.mark('the audit of one source found a difference')
    if (member?.settings.isBreach !== true) scenario.violate('I16', `nothing is wrong, and ${message}`)
    if (member !== undefined) member.reflectorChecker?.relistRequested(stateOf(member.name) ?? '')
  }
}
