import type { SimulatedCache } from '../cache/simulated-cache.js'
import type { Scenario } from '../system/scenario.js'

type EmitWarning = (warning: string | Error, ...rest: readonly unknown[]) => void

/** The listeners of numbered process warnings. */
const delivered = new Map<number, () => void>()
const emitWarning = process.emitWarning.bind(process) as EmitWarning
const numbered = /^(?<name>.*): simulated warning (?<number>\d+)$/s
let count = 0

/** The caches by their names. They are held weakly: a cache refers to its whole schedule. */
const caches = new Map<string, WeakRef<SimulatedCache>>()
const aboutCache = /: (?<cache>simulated cache \d+): /

/** Registers a cache for its warnings. */
export function onCacheWarning(cache: SimulatedCache): void {
  caches.set(cache.name, new WeakRef(cache))
}

process.emitWarning = ((warning, ...rest) => {
  const number = typeof warning === 'string' ? numbered.exec(warning)?.groups?.['number'] : undefined
  const cache = typeof warning === 'string' ? aboutCache.exec(warning)?.groups?.['cache'] : undefined
  if (cache !== undefined) caches.get(cache)?.deref()?.warned()
  else if (number === undefined) emitWarning(warning, ...rest)
  else delivered.get(Number(number))?.()
}) satisfies EmitWarning

/**
 * Checks the warnings of one source: each is a process warning if there is no logger, and there is none after a stop
 * (I15).
 */
export class WarningChecker {
  readonly #scenario: Scenario
  #warn: ((message: string) => void) | undefined
  #isSilenced = false

  constructor(scenario: Scenario) {
    this.#scenario = scenario
  }

  called(warn: ((message: string) => void) | undefined): void {
    this.#warn = warn
    this.#isSilenced = false
  }

  /** No warning may be emitted until another informer reads the source. */
  silence(): void {
    this.#isSilenced = true
  }

  /** Emits a warning. `isWanted`: the call that it uses was not aborted. */
  warn(isWanted: boolean): void {
    const { violate, note } = this.#scenario
    const warn = this.#warn
    if (warn === undefined) return
    note('the source warns')
    const number = ++count
    let times = 0
    delivered.set(number, () => void times++)
    warn(`simulated warning ${number}`)
    delivered.delete(number)
    if (times > 1) violate('errors', `a warning of the source was emitted ${times} times`)
    if (times === 0 && isWanted) violate('errors', 'a warning of the source was not emitted')
    if (times > 0 && this.#isSilenced) violate('I15', 'a warning of the source was emitted after stop() had settled')
  }
}
