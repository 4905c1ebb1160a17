import type { Informer, Version } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { checkView, entriesOf } from '../checkers/snapshot-checker.js'
import { type Invariant, nameOf, type Scenario } from '../system/scenario.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

type Readable = { readonly size: number; get(key: string): Item | undefined; keys(): Iterable<string> }

/**
 * Checks the store of a set: the objects of each source are its state at the version of that source, and each key
 * belongs to one source.
 */
export class SetStoreChecker {
  readonly #scenario: Scenario
  readonly #members: SetMembers
  readonly #informer: Informer<Item, IndexesOf>
  #versions: ReadonlyMap<string, Version> = new Map()
  #list: readonly Item[] | undefined
  #removals = 0
  #steps = 0
  /** The owner of each key in the last check, and the number of deletions of all its objects then. */
  readonly #owners = new Map<
    string,
    { readonly member: SetMember; readonly times: number; readonly version: Version }
  >()

  constructor(scenario: Scenario, members: SetMembers, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#members = members
    this.#informer = informer
  }

  /** No read returns a partial state. Returns true if something has changed. */
  checkStep(): boolean {
    const { versions } = this.#informer
    // The array stays the same until something changes.
    const list = this.#informer.list()
    const removals = this.#members.all.reduce((sum, member) => sum + member.removals, 0)
    const hasMoved = !isSame(versions, this.#versions)
    if (hasMoved && removals === this.#removals) this.#checkOrder(versions)
    if (!hasMoved && list === this.#list && removals === this.#removals) return false
    this.#list = list
    this.#versions = versions
    this.#removals = removals
    this.#scenario.note('the store is at', ...[...versions].map(([name, version]) => `${name} ${version}`))
    if (++this.#steps % 8 === 0) {
      checkIndexes(this.#scenario, this.#informer)
      checkView(this.#scenario, this.#informer, entriesOf(this.#informer), 'the store')
      this.#checkStatus()
    }
    this.checkAt(this.#informer, versions, 'I7', 'the store')
    if (this.#members.overlap) this.#checkOwners(versions)
    return true
  }

  /** Checks a store, or a snapshot of it, at the versions of its sources. */
  checkAt(store: Readable, versions: ReadonlyMap<string, Version>, invariant: Invariant, what: string): void {
    const { violate, settings } = this.#scenario
    const foreignKey = [...store.keys()].find((key) => !settings.keys.includes(key))
    if (foreignKey !== undefined) violate('sets', `${what} has the key ${nameOf(foreignKey)}, which was never written`)
    if (store.size !== [...store.keys()].length) violate('I8', `${what} and its size differ`)
    if (this.#members.overlap) this.#checkShared(store, versions, what)
    else
      for (const member of this.#members) {
        const version = versions.get(member.name)
        // A source that was not read, or was removed, has no objects; one with breaches is not checked.
        const flaw =
          version !== undefined && member.settings.isBreach ? undefined : member.flaw((key) => store.get(key), version)
        if (flaw !== undefined) violate(version === undefined ? 'sets' : invariant, `${what}: ${flaw}`)
      }
  }

  /** Shared keys: each object in the store is that of one of its sources. */
  #checkShared(store: Readable, versions: ReadonlyMap<string, Version>, what: string): void {
    for (const key of store.keys()) {
      const n = store.get(key)?.n ?? -1
      const member = this.#members.writerOf(n)?.member
      const version = versions.get(member?.name ?? '')
      const stored = version === undefined ? undefined : member?.history.at(version).state.get(key)
      if (stored?.isInvalid || stored?.item.n === n) continue
      // A source that reports an invalid object may have had its last valid state before.
      this.#scenario.violate('sets', `${what} has ${nameOf(key)} = n${n} of ${member?.name}, which is at ${version}`)
    }
  }

  /** A key stays with its source until that one deletes it, or is removed. */
  #checkOwners(versions: ReadonlyMap<string, Version>): void {
    const { violate, mark } = this.#scenario
    for (const key of this.#scenario.settings.keys) {
      const n = this.#informer.get(key)?.n
      const member = n === undefined ? undefined : this.#members.writerOf(n)?.member
      const version = member === undefined ? undefined : versions.get(member.name)
      const owner = this.#owners.get(key)
      if (member === undefined || version === undefined) continue
      this.#owners.set(key, { member, times: member.removals + member.losses, version })
      if (owner === undefined || owner.member === member) continue
      mark('a key went from one source to another')
      const { member: last, times } = owner
      if (last.removals + last.losses > times) continue
      const gaveUp = last.history.isAtOrAfter(key, (stored) => !last.wants(stored) || stored.isInvalid, owner.version)
      if (!gaveUp) violate('sets', `${nameOf(key)} went from ${last.name} to ${member.name}, and ${last.name} has it`)
    }
  }

  /** There are versions and states exactly of the sources in the set. */
  #checkStatus(): void {
    const { violate } = this.#scenario
    const { version, versions, status } = this.#informer
    const names = this.#members.current.map(({ name }) => name).sort()
    const delivered = Object.keys(status.sources ?? {}).sort()
    if (version !== undefined || status.version !== undefined) violate('sets', `several sources are at ${version}`)
    if (delivered.join() !== names.join())
      violate('sets', `the status is of ${delivered}, and the sources are ${names}`)
    for (const name of versions.keys())
      if (!names.includes(name)) violate('sets', `there is a version of ${name}, which is not a source`)
  }

  #checkOrder(versions: ReadonlyMap<string, Version>): void {
    for (const member of this.#members) {
      const [from, to] = [this.#versions.get(member.name), versions.get(member.name)]
      if (member.settings.isBreach || from === undefined || to === undefined) continue
      const { history } = member
      if (history.indexOf(to) >= history.indexOf(from)) continue
      const isOlderEpoch = history.at(to).epoch < history.at(from).epoch
      this.#scenario.violate(isOlderEpoch ? 'I11' : 'I10', `${member.name} went back from ${from} to ${to}`)
    }
  }
}

function isSame(a: ReadonlyMap<string, Version>, b: ReadonlyMap<string, Version>): boolean {
  return a.size === b.size && [...a].every(([name, version]) => b.get(name) === version)
}
