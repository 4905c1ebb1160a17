import type { Informer } from '../../../src/index.js'
import type { Stream } from '../workload/random-decisions.js'
import { type Item, type Scope, textOf } from './upstream-states.js'
import type { UpstreamWorld } from './upstream-world.js'

export const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** An informer that follows the states of an upstream through something else. Checks that it shows them in order. */
export abstract class UpstreamFollower {
  readonly name: string
  abstract readonly informer: Informer<Item, object>
  /** The index of the newest state that it has shown. */
  shown = -1
  protected readonly world: UpstreamWorld<string, UpstreamFollower>
  protected readonly random: Stream
  readonly #scope: Scope
  #epochs = 0
  #epochsWhenShown = 0

  constructor(world: UpstreamWorld<string, UpstreamFollower>, name: string, scope: Scope) {
    this.world = world
    this.random = world.decisions.of(`jitter of ${name}`)
    this.name = name
    this.#scope = scope
  }

  get isAlive(): boolean {
    return true
  }

  /** Compares what it shows with the states of the upstream. */
  look(): void {
    const { isSynced, relists } = this.informer.status
    if (!isSynced) return
    const { states, note, mark, violate } = this.world
    const { name, shown } = this
    if (relists > 0) mark('a follower listed again')
    const text = textOf(this.informer.entries())
    const index = states.indexOf(this.#scope, text)
    if (index === undefined) {
      violate('true state', `${name} shows ${text}, which the source never had`)
      return
    }
    const isOtherEpoch = this.#epochs !== this.#epochsWhenShown
    if (shown < 0) this.firstShows(index)
    if (index < shown && !isOtherEpoch) violate('order', `${name} went back from state ${shown} to ${index}`)
    if (shown >= 0 && states.historyOf(shown) !== states.historyOf(index) && !isOtherEpoch)
      violate('epoch', `${name} shows another history of the source without EPOCH_CHANGED`)
    if (index === shown) return // It may be the state before the list that follows EPOCH_CHANGED.
    note('shows', index, name)
    this.shown = index
    this.#epochsWhenShown = this.#epochs
  }

  /** The index of the state that it shows now; -1 if there is none. */
  get showsNow(): number {
    return this.world.states.indexOf(this.#scope, textOf(this.informer.entries())) ?? -1
  }

  /** Called once there is an informer, before it is started. */
  protected observe(): void {
    this.informer.on('error', ({ code }) => {
      if (code !== 'EPOCH_CHANGED') return
      this.look() // It still shows a state of the earlier history.
      this.#epochs++
      this.world.mark('a follower was told of another epoch')
    })
  }

  /** It shows a state for the first time. */
  protected firstShows(_index: number): void {}
}
