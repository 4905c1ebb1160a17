import type { Version } from '../../../src/contract/version.js'
import type { Informer } from '../../../src/informer/informer.js'
import type { Item } from '../backend/history.js'
import { QueryModel } from '../checkers/query-model.js'
import { entriesOf } from '../checkers/snapshot-checker.js'
import { type Invariant, nameOf, type Scenario } from '../system/scenario.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

interface Readable {
  readonly size: number
  get(key: string): Item | undefined
  keys(): Iterable<string>
}

/** Judges the store of a set: each part is what its source had at the version of that part, and each key is one's. */
export class SetStoreChecker {
  readonly #scene: Scenario
  readonly #slots: SetMembers
  readonly #informer: Informer<Item, IndexesOf>
  #versions: ReadonlyMap<string, Version> = new Map()
  #list: readonly Item[] | undefined
  #removals = 0
  #looks = 0
  readonly #answers: QueryModel
  /** Whose each key was when it was seen last, and how often all of that slot had been deleted then. */
  readonly #owners = new Map<string, { readonly slot: SetMember; readonly times: number; readonly version: Version }>()

  constructor(scene: Scenario, slots: SetMembers, informer: Informer<Item, IndexesOf>) {
    this.#scene = scene
    this.#slots = slots
    this.#informer = informer
    this.#answers = new QueryModel(scene)
  }

  /** No read sees a part of anything. True where something has moved. */
  look(): boolean {
    const { versions } = this.#informer
    // The array is the same as long as nothing has changed.
    const list = this.#informer.list()
    const removals = this.#slots.all.reduce((sum, slot) => sum + slot.removals, 0)
    const hasMoved = !isSame(versions, this.#versions)
    if (hasMoved && removals === this.#removals) this.#checkOrder(versions)
    if (!hasMoved && list === this.#list && removals === this.#removals) return false
    this.#list = list
    this.#versions = versions
    this.#removals = removals
    this.#scene.note('the store is at', ...[...versions].map(([name, version]) => `${name} ${version}`))
    if (++this.#looks % 8 === 0) {
      checkIndexes(this.#scene, this.#informer)
      this.#answers.judge(this.#informer, entriesOf(this.#informer), 'the store')
      this.#checkStatus()
    }
    this.judge(this.#informer, versions, 'I7', 'the store')
    if (this.#slots.overlap) this.#checkOwners(versions)
    return true
  }

  /** A store, or a snapshot of it, at the versions that its parts had. */
  judge(store: Readable, versions: ReadonlyMap<string, Version>, invariant: Invariant, what: string): void {
    const { violate, settings } = this.#scene
    const strange = [...store.keys()].find((key) => !settings.keys.includes(key))
    if (strange !== undefined) violate('sets', `${what} has the key ${nameOf(strange)}, which nobody ever wrote`)
    if (store.size !== [...store.keys()].length) violate('I8', `${what} has another size than it says`)
    if (this.#slots.overlap) this.#judgeShared(store, versions, what)
    else
      for (const slot of this.#slots) {
        const version = versions.get(slot.name)
        // What nobody has read, or what was taken out, is not there; what breaks its promises is no measure of the rest.
        const flaw =
          version !== undefined && slot.settings.isBreach ? undefined : slot.flaw((key) => store.get(key), version)
        if (flaw !== undefined) violate(version === undefined ? 'sets' : invariant, `${what}: ${flaw}`)
      }
  }

  /** Keys that more than one source has: each object in the store is what one of them has. */
  #judgeShared(store: Readable, versions: ReadonlyMap<string, Version>, what: string): void {
    for (const key of store.keys()) {
      const n = store.get(key)?.n ?? -1
      const slot = this.#slots.writerOf(n)?.slot
      const version = versions.get(slot?.name ?? '')
      const stored = version === undefined ? undefined : slot?.history.at(version).state.get(key)
      if (stored?.isInvalid || stored?.item.n === n) continue
      // A source that says the last good state is invalid may have said so before.
      this.#scene.violate('sets', `${what} has ${nameOf(key)} = n${n} of ${slot?.name}, which is at ${version}`)
    }
  }

  /** A key stays whose it is until that one gives it up, or is taken out. */
  #checkOwners(versions: ReadonlyMap<string, Version>): void {
    const { violate, mark } = this.#scene
    for (const key of this.#scene.settings.keys) {
      const n = this.#informer.get(key)?.n
      const slot = n === undefined ? undefined : this.#slots.writerOf(n)?.slot
      const version = slot === undefined ? undefined : versions.get(slot.name)
      const owner = this.#owners.get(key)
      if (slot === undefined || version === undefined) continue
      this.#owners.set(key, { slot, times: slot.removals + slot.losses, version })
      if (owner === undefined || owner.slot === slot) continue
      mark('a key went from one source to another')
      const { slot: last, times } = owner
      if (last.removals + last.losses > times) continue
      const { history } = last
      const gaveUp = history.isAtOrAfter(key, (stored) => !last.wants(stored) || stored.isInvalid, owner.version)
      if (!gaveUp) violate('sets', `${nameOf(key)} went from ${last.name} to ${slot.name}, and ${last.name} has it`)
    }
  }

  /** Versions and states are of each source, and of those that are there alone. */
  #checkStatus(): void {
    const { violate } = this.#scene
    const { version, versions, status } = this.#informer
    const names = this.#slots.members.map(({ name }) => name).sort()
    const told = Object.keys(status.sources ?? {}).sort()
    if (version !== undefined || status.version !== undefined) violate('sets', `several sources are at ${version}`)
    if (told.join() !== names.join()) violate('sets', `the status is of ${told}, and the sources are ${names}`)
    for (const name of versions.keys())
      if (!names.includes(name)) violate('sets', `there is a version of ${name}, which is no source`)
  }

  #checkOrder(versions: ReadonlyMap<string, Version>): void {
    for (const slot of this.#slots) {
      const [from, to] = [this.#versions.get(slot.name), versions.get(slot.name)]
      if (slot.settings.isBreach || from === undefined || to === undefined) continue
      const { history } = slot
      if (history.indexOf(to) >= history.indexOf(from)) continue
      const isOlderEpoch = history.at(to).epoch < history.at(from).epoch
      this.#scene.violate(isOlderEpoch ? 'I11' : 'I10', `${slot.name} went back from ${from} to ${to}`)
    }
  }
}

function isSame(a: ReadonlyMap<string, Version>, b: ReadonlyMap<string, Version>): boolean {
  return a.size === b.size && [...a].every(([name, version]) => b.get(name) === version)
}
