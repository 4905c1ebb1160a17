import type { Scenario } from '../system/scenario.js'

type EmitWarning = (warning: string | Error, ...rest: readonly unknown[]) => void

/** Who is told of a process warning that has a number in it. */
const delivered = new Map<number, () => void>()
const emitWarning = process.emitWarning.bind(process) as EmitWarning
const numbered = /^(?<name>.*): simulated warning (?<number>\d+)$/s
let count = 0

process.emitWarning = ((warning, ...rest) => {
  const number = typeof warning === 'string' ? numbered.exec(warning)?.groups?.['number'] : undefined
  if (number === undefined) emitWarning(warning, ...rest)
  else delivered.get(Number(number))?.()
}) satisfies EmitWarning

/** What one source warns of: each is a process warning, where there is no logger; after a stop none is (I15). */
export class WarningChecker {
  readonly #scenario: Scenario
  /** What it warns by: the context of its last call. */
  #warn: ((message: string) => void) | undefined
  /** The informer that called it last has stopped. */
  #isSilenced = false

  constructor(scenario: Scenario) {
    this.#scenario = scenario
  }

  /** It was called, and may warn by this from now on. */
  called(warn: ((message: string) => void) | undefined): void {
    this.#warn = warn
    this.#isSilenced = false
  }

  /** From now on nothing may be emitted until another informer reads it. */
  silence(): void {
    this.#isSilenced = true
  }

  /** It warns. `isWanted`: nobody has ended the call by which it does. */
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
