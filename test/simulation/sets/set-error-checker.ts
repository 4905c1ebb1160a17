import { type SourceError, TerminalError } from '../../../src/contract/errors.js'
import type { MayBeLost } from '../checkers/error-checker.js'
import { checkErrorReport } from '../checkers/error-report-checker.js'
import type { Scenario } from '../system/scenario.js'
import type { SetFollower } from './set-follower.js'
import type { SetMembers } from './set-members.js'

/** The informer whose errors are checked. */
interface Reporter {
  readonly scenario: Scenario
  readonly members: SetMembers
  readonly followers: readonly SetFollower[]
  readonly reconcilers: readonly { readonly isClosed: boolean }[]
  readonly isStopping: boolean
  stateOf(name: string): string | undefined
}

/**
 * Checks the reported errors of an informer over a set: each names its source, and handler errors are reported once
 * (I14).
 */
export class SetErrorChecker {
  readonly #host: Reporter
  /** Thrown by handlers, and not reported yet. */
  readonly #planted = new Map<unknown, MayBeLost>()

  constructor(host: Reporter) {
    this.#host = host
  }

  /** An error for a handler to throw. It need not be reported if its follower has left. */
  plant(hasLeft: boolean, error = new Error('thrown by a handler'), mayBeLost: MayBeLost = () => false): Error {
    if (!hasLeft && !this.#host.isStopping) this.#planted.set(error, mayBeLost)
    return error
  }

  forget(): void {
    this.#planted.clear()
  }

  reported(error: SourceError): void {
    const { scenario, members } = this.#host
    const { phase, message, code, source } = error
    scenario.note('reports', code, phase ?? '', source ?? '')
    checkErrorReport(scenario, error, (name) => this.#isSource(name))
    if (phase === 'handle') this.#ofHandler(error)
    else if (message.startsWith('the audit')) this.#ofAudit(message)
    else if (message.startsWith('another source of the set')) {
      scenario.mark('two sources had the same key')
      if (!members.overlap) scenario.violate('sets', `keys are disjoint, and ${message}`)
    } else if (phase === 'decode' && /unknown type/.test(message)) members.named(source)?.reflectorChecker?.leftOut()
    else if (phase === 'list' || phase === 'watch') this.#ofSource(error)
    else if (phase === 'apply') scenario.violate('crash', `the store refused something: ${message}`)
  }

  check(): void {
    const { violate } = this.#host.scenario
    const planted = [...this.#planted.values()].filter((mayBeLost) => !mayBeLost()).length
    if (planted > 0) violate('I14', `${planted} errors of handlers were never reported`)
  }

  /** One of the set, or all of them. */
  #isSource(name = ''): boolean {
    return name.startsWith('the sources ') || this.#host.members.named(name) !== undefined
  }

  #ofSource(error: SourceError): void {
    const { scenario, members, stateOf } = this.#host
    const member = members.named(error.source)
    if (member?.reflectorChecker === undefined) {
      scenario.violate('sets', `an error of ${error.source}, which is not read: ${error.message}`)
      return
    }
    member.reflectorChecker.failed(error)
    if (!this.#host.isStopping) member.access?.failed(error)
    if (member.access?.isCleared) member.reflectorChecker.accessLost()
    if (members.current.some(({ name }) => stateOf(name) === 'live'))
      scenario.mark('a source failed while another was live')
  }

  #ofHandler({ message, cause }: SourceError): void {
    const { scenario, isStopping, followers, reconcilers } = this.#host
    if (message.includes('fell behind')) {
      const follower = followers.find(({ name }) => message.includes(`"${name}"`))
      follower?.queue?.overflowed()
      if (follower?.mayOverflow === true) {
        follower.hasOverflowed ||= !follower.isClosed
        follower.isClosed = true
      } else scenario.violate('I12', `closed by an overflow that it was to merge: ${message}`)
    } else if (cause !== undefined && !this.#planted.delete(cause instanceof TerminalError ? cause.cause : cause)) {
      const mayBeForgotten = isStopping || [...followers, ...reconcilers].some(({ isClosed }) => isClosed)
      if (!mayBeForgotten) scenario.violate('I14', `an error of a handler was reported twice: ${message}`)
    }
  }

  #ofAudit(message: string): void {
    const { scenario, members, stateOf } = this.#host
    if (message.includes('could not be done')) return
    const member = members.all.find(({ name }) => message.startsWith(`the audit of ${name} `))
    scenario.mark('the audit of one source found a difference')
    if (member?.settings.isBreach !== true) scenario.violate('I16', `nothing is wrong, and ${message}`)
    if (member !== undefined) member.reflectorChecker?.relistRequested(stateOf(member.name) ?? '')
  }
}
