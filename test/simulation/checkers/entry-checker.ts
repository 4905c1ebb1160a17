import type { Informer, Version } from '../../../src/index.js'
import type { Item, State, Stored } from '../backend/history.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'

/**
 * Compares entries with the source at the version of the store: their versions and identities, the identical object,
 * whether it is frozen, which keys are invalid, and the kept objects of those.
 */
export class EntryChecker {
  readonly #scenario: SourceScenario
  readonly #informerOf: () => Informer<Item, IndexesOf>
  /** The content of each key in the last check, and the version of that check. */
  readonly #seen = new Map<string, number>()
  #seenAt: Version | undefined
  readonly #frozen = new WeakSet<object>()

  constructor(scenario: SourceScenario, informerOf: () => Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#informerOf = informerOf
  }

  /** The store is empty: the next check has no predecessor. */
  forget(): void {
    this.#seenAt = undefined
    this.#seen.clear()
  }

  checkStep(version: Version): void {
    const { history, settings } = this.#scenario
    const { state } = history.at(version)
    for (const key of settings.keys) {
      const stored = state.get(key)
      const isOmitted = stored?.item.tenant === settings.omits
      if (stored?.isInvalid === true) this.#checkInvalid(key)
      else if (stored !== undefined && !isOmitted) this.#checkEntry(key, stored)
    }
    this.#checkInvalidKeys(state)
    this.#seenAt = version
    this.#seen.clear()
    for (const [key, { n }] of this.#informerOf().entries()) this.#seen.set(key, n)
  }

  #checkEntry(key: string, { item, revision, uid }: Stored): void {
    const { settings, violate } = this.#scenario
    const entry = this.#informerOf().entry(key)
    if (entry === undefined) return
    const { copies, hasSchema, hasUids, freezes, interns } = settings
    if (entry.version !== revision)
      violate('I7', `the entry of ${nameOf(key)} is of version ${entry.version}, the source has ${revision}`)
    if (entry.uid !== (hasUids ? uid : undefined))
      violate('I7', `the entry of ${nameOf(key)} has the uid ${entry.uid}, in the source it is ${uid}`)
    if (!copies && !hasSchema && !interns && entry.object !== item)
      violate('I7', `the entry of ${nameOf(key)} has another object than the source`)
    if (!freezes || this.#frozen.has(entry.object)) return
    this.#frozen.add(entry.object)
    const soft = unfrozenIn(entry.object)
    if (soft !== undefined) violate('I8', `the object of ${nameOf(key)} can be written to, at ${soft}`)
  }

  /** Its last valid state stays unless the key was absent in between. With `omit`, it is deleted. */
  #checkInvalid(key: string): void {
    const { settings, history, violate } = this.#scenario
    const n = this.#informerOf().get(key)?.n
    if (settings.onInvalid === 'omit' && n !== undefined)
      violate('I8', `${nameOf(key)} does not decode, and the store has n${n}`)
    if (settings.onInvalid === 'omit' || this.#seenAt === undefined) return
    const seen = this.#seen.get(key)
    if (n === seen) return
    const isSuch = (stored: Stored | undefined): boolean => {
      if (n !== undefined) return stored?.item.n === n && !stored.isInvalid
      return stored === undefined || stored.item.tenant === settings.omits
    }
    if (!history.isAtOrAfter(key, isSuch, this.#seenAt))
      violate(
        'I8',
        `${nameOf(key)} does not decode, and the store has n${n ?? '–'} of it, before it had n${seen ?? '–'}`,
      )
  }

  #checkInvalidKeys(state: State): void {
    const { settings, violate } = this.#scenario
    const { invalid } = this.#informerOf()
    let many = 0
    for (const key of settings.keys) {
      const isInvalid = state.get(key)?.isInvalid === true
      if (isInvalid) many++
      if (invalid.has(key) !== isInvalid)
        violate(
          'I7',
          `${nameOf(key)} ${isInvalid ? 'does not decode' : 'decodes'}, and the informer reports the opposite`,
        )
    }
    if (invalid.size > many) violate('I7', 'there are invalid keys that were never written')
  }
}

export function unfrozenIn(value: unknown, path = 'the object'): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return undefined
  if (!Object.isFrozen(value)) return path
  for (const [name, child] of Object.entries(value)) {
    const soft = unfrozenIn(child, name)
    if (soft !== undefined) return soft
  }
  return undefined
}
