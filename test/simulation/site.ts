import { Deeds, type Place } from './deeds.js'
import { Draws, hashOf, mix } from './draws.js'
import { History } from './history.js'
import type { Mark } from './marks.js'
import type { Settings } from './settings.js'
import type { SimClock } from './sim-clock.js'
import type { Invariant, Scene } from './stage.js'

/** The chance of one of several: draws of its own, whose decisions count among those of the whole schedule. */
export class SiteDraws extends Draws {
  readonly #whole: Draws
  readonly #name: string

  constructor(whole: Draws, name: string) {
    super(mix(whole.seed) ^ hashOf(name))
    this.#whole = whole
    this.#name = name
  }

  override take(name: string): boolean {
    return this.#whole.take(`${name}~${this.#name}`)
  }
}

/** How many contents one site writes at most: so one never writes what another does. */
const CONTENTS = 1_000_000

/** One of several backends: its history, its writers, its faults. What is seen of it is the scene's. */
export class Site implements Place {
  readonly name: string
  readonly clock: SimClock
  readonly draws: SiteDraws
  readonly settings: Settings
  readonly deeds: Deeds
  readonly mark: (mark: Mark) => void
  history: History
  readonly #scene: Scene
  readonly #driveOf: () => Place['drive']

  constructor(
    scene: Scene,
    { name, nth }: { readonly name: string; readonly nth: number },
    settingsOf: (draws: Draws) => Settings,
    driveOf: () => Place['drive'],
  ) {
    this.name = name
    this.#scene = scene
    this.#driveOf = driveOf
    this.clock = scene.clock
    this.mark = scene.mark
    this.draws = new SiteDraws(scene.draws, name)
    this.settings = settingsOf(this.draws)
    this.deeds = new Deeds(this, nth * CONTENTS)
    this.history = new History(this.deeds.initial())
  }

  get drive(): Place['drive'] {
    return this.#driveOf()
  }

  note = (what: string, ...about: readonly (string | number)[]): void => this.#scene.note(what, ...about, this.name)

  violate = (invariant: Invariant, message: string): void => this.#scene.violate(invariant, `${this.name}: ${message}`)

  listenersOf(signal: AbortSignal): number {
    return this.#scene.listenersOf(signal)
  }

  inGap = (): void => this.deeds.inGap()

  pileUp = (key: string): void => this.deeds.pileUp(key)

  comeAndGo = (withinMs: number): void => this.deeds.comeAndGo(withinMs)
}
