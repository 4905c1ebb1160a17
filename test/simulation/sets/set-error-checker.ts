import type { SourceError } from '../../../src/contract/errors.js'
import { checkErrorReport } from '../checkers/error-report-checker.js'
import type { Scenario } from '../system/scenario.js'
import type { SetFollower } from './set-follower.js'
import type { SetMembers } from './set-members.js'

/** What is asked of an informer whose errors are judged. */
interface Reporter {
  readonly stage: Scenario
  readonly slots: SetMembers
  readonly followers: readonly SetFollower[]
  readonly isStopping: boolean
  stateOf(name: string): string | undefined
}

/** What an informer over a set reports: each error of the source that it came from, those of handlers once (I14). */
export class SetErrorChecker {
  readonly #host: Reporter
  /** Thrown by handlers, and not reported yet. */
  readonly #planted = new Set<unknown>()

  constructor(host: Reporter) {
    this.#host = host
  }

  /** An error for a handler to throw; nobody need hear of it where it belongs to somebody who has left. */
  plant(hasLeft: boolean, error = new Error('thrown by a handler')): Error {
    if (!hasLeft && !this.#host.isStopping) this.#planted.add(error)
    return error
  }

  forget(): void {
    this.#planted.clear()
  }

  reported(error: SourceError): void {
    const { stage, slots } = this.#host
    const { phase, message, code, source } = error
    stage.note('reports', code, phase ?? '', source ?? '')
    checkErrorReport(stage, error, (name) => this.#isSource(name))
    if (phase === 'handle') this.#ofHandler(error)
    else if (message.startsWith('the audit')) this.#ofAudit(message)
    else if (message.startsWith('another source of the set')) {
      stage.mark('two sources gave one key')
      if (!slots.overlap) stage.violate('sets', `keys are disjoint, and ${message}`)
    } else if (phase === 'decode' && /unknown type/.test(message)) slots.named(source)?.judge?.leftOut()
    else if (phase === 'list' || phase === 'watch') this.#ofSource(error)
    else if (phase === 'apply') stage.violate('crash', `the store refused something: ${message}`)
  }

  check(): void {
    const { violate } = this.#host.stage
    if (this.#planted.size > 0) violate('I14', `${this.#planted.size} errors of handlers were never reported`)
  }

  /** One of the set, or all of them. */
  #isSource(name = ''): boolean {
    return name.startsWith('the sources ') || this.#host.slots.named(name) !== undefined
  }

  #ofSource(error: SourceError): void {
    const { stage, slots, stateOf } = this.#host
    const slot = slots.named(error.source)
    if (slot?.judge === undefined) {
      stage.violate('sets', `an error of ${error.source}, which nobody reads: ${error.message}`)
      return
    }
    slot.judge.failed(error)
    if (!this.#host.isStopping) slot.access?.failed(error)
    if (slot.access?.isCleared) slot.judge.accessLost()
    if (slots.members.some(({ name }) => stateOf(name) === 'live')) stage.mark('a source failed while another was live')
  }

  #ofHandler({ message, cause }: SourceError): void {
    const { stage, isStopping, followers } = this.#host
    if (message.includes('fell behind')) {
      const follower = followers.find(({ name }) => message.includes(`"${name}"`))
      follower?.queue?.overflowed()
      if (follower?.mayOverflow === true) follower.isClosed = true
      else stage.violate('I12', `closed by an overflow that it was to merge: ${message}`)
    } else if (cause !== undefined && !this.#planted.delete(cause)) {
      const mayBeForgotten = isStopping || followers.some((follower) => follower.isClosed)
      if (!mayBeForgotten) stage.violate('I14', `an error of a handler was reported twice: ${message}`)
    }
  }

  #ofAudit(message: string): void {
    const { stage, slots, stateOf } = this.#host
    if (message.includes('could not be done')) return
    const slot = slots.all.find(({ name }) => message.startsWith(`the audit of ${name} `))
    stage.mark('the audit of one source found a difference')
    if (slot?.settings.isBreach !== true) stage.violate('I16', `nothing is wrong, and ${message}`)
    if (slot !== undefined) slot.judge?.relistAsked(stateOf(slot.name) ?? '')
  }
}
