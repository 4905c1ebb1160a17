import type { WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { type Change, type Delta, type DeltaBatch, namedInvalid, type Origin } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import { type MergedChange, mergedOf } from './merged-changes.js'
import { VersionOrderChecker } from './version-order-checker.js'

interface Waiting {
  readonly change: Change<Item>
  /** A second delete of a deleted key: it only improves the final state of the first, and only if they are merged. */
  readonly isSecond: boolean
  readonly isBare: boolean
}

export interface Listed {
  readonly objects: ReadonlyMap<string, Item>
  /** The undecodable keys; undefined: unknown, so no key is known to be absent. */
  readonly invalid: ReadonlySet<string> | undefined
}

/** Whether pending changes are merged: always in a queue of the latest, and for a time after an overflow. */
export type Merging = 'never' | 'at times' | 'always'

/**
 * Checks a queue as a sink, by its input and output. Of each key it delivers the input, or its merge (laws 4 and 5).
 * Contents never go back (I3), nor does the version of the queue (I10, I11).
 */
export class SinkChecker {
  readonly #scenario: SourceScenario
  readonly #merging: Merging
  readonly #progress: VersionOrderChecker
  /** The objects of a consumer that takes everything. */
  readonly #held = new Map<string, Item>()
  /** The possible pending changes of each key: a repeated change that was delivered may belong to another equal one. */
  readonly #waiting = new Map<string, readonly (readonly Waiting[])[]>()
  /** The newest taken content of each key, and its epoch. */
  readonly #newest = new Map<string, { readonly n: number; readonly epoch: number }>()
  #accepted: Version | undefined

  constructor(scenario: SourceScenario, merging: Merging) {
    this.#scenario = scenario
    this.#merging = merging
    this.#progress = new VersionOrderChecker(scenario, 'the queue')
  }

  get accepted(): Version | undefined {
    return this.#accepted
  }

  applied({ events, version }: WatchBatch<Item>, queueAt: Version | undefined): void {
    for (const event of events) {
      if (event.type === 'put') this.#put(event.key, event.object, version, 'watch')
      else if (event.type === 'delete') this.#delete(event.key, event.object, version)
      else if (event.type === 'replace') {
        const objects = new Map(event.entries.map(({ key, object }) => [key, object]))
        this.#replaced({ objects, invalid: namedInvalid(events) }, version, 'watch')
      }
    }
    this.#accept(version, queueAt)
  }

  listed(listed: Listed, version: Version, queueAt: Version | undefined): void {
    this.#replaced(listed, version, 'relist')
    this.#accept(version, queueAt)
  }

  took({ deltas }: DeltaBatch<Item>, holds: (key: string) => boolean): void {
    for (const delta of deltas) if (delta.type !== 'deleted') this.#order(delta)
    for (const [key, delivered] of Map.groupBy(deltas, ({ key }) => key)) this.#checkKey(key, delivered, holds(key))
  }

  #accept(version: Version, queueAt: Version | undefined): void {
    this.#accepted = version
    this.#progress.at(queueAt)
    if (queueAt !== version) this.#scenario.violate('I10', `the queue accepted ${version}, and says ${queueAt}`)
  }

  #put(key: string, object: Item, version: Version, origin: Origin): void {
    const previous = this.#held.get(key)
    const base = { key, object, version, origin }
    this.#held.set(key, object)
    this.#wait(previous === undefined ? { ...base, type: 'add', previous } : { ...base, type: 'update', previous })
  }

  #delete(key: string, last: Item | undefined, version: Version): void {
    if (this.#held.has(key)) this.#gone(key, last, version, 'watch', 'known')
    else {
      this.#waiting.set(
        key,
        this.#left(key).map((waiting) => {
          const first = waiting.at(-1)?.change
          if (first?.type !== 'delete') return waiting
          const finalState = last === undefined ? first.finalState : 'known'
          const change = { ...first, object: last ?? first.object, version, finalState }
          return [...waiting, { change, isSecond: true, isBare: last === undefined }]
        }),
      )
    }
  }

  #gone(key: string, last: Item | undefined, version: Version, origin: Origin, finalState: 'known' | 'unknown'): void {
    const previous = this.#held.get(key)
    if (previous === undefined) return
    this.#held.delete(key)
    this.#wait({ type: 'delete', key, object: last ?? previous, previous, version, origin, finalState })
  }

  #replaced({ objects, invalid }: Listed, version: Version, origin: Origin): void {
    for (const key of invalid === undefined ? [] : [...this.#held.keys()])
      if (!objects.has(key) && invalid?.has(key) === false) this.#gone(key, undefined, version, origin, 'unknown')
    for (const [key, object] of objects) this.#put(key, object, version, origin)
  }

  #wait(change: Change<Item>): void {
    const { key } = change
    this.#waiting.set(
      key,
      this.#left(key).map((waiting) => [...waiting, { change, isSecond: false, isBare: false }]),
    )
  }

  #left(key: string): readonly (readonly Waiting[])[] {
    return this.#waiting.get(key) ?? [[]]
  }

  /**
   * The delivered changes of a key are the first pending ones, or all of them merged. A merge to nothing is not
   * delivered.
   */
  #checkKey(key: string, delivered: readonly Delta<Item>[], isHeld: boolean): void {
    const left = this.#left(key).flatMap((waiting) => [
      ...this.#afterFirst(waiting, delivered, isHeld),
      ...this.#afterMerged(waiting, delivered, isHeld),
    ])
    if (left.length > 0) {
      this.#waiting.set(key, distinct(left))
      return
    }
    this.#waiting.delete(key)
    const what = delivered.map(({ type, object, version }) => `${type} n${object.n} at ${version}`).join(', ')
    this.#scenario.violate(
      'queue',
      `of ${nameOf(key)} was delivered: ${what}; which is neither the input nor its merge`,
    )
  }

  /** The possible pending changes after the first ones were delivered; empty if other changes were delivered. */
  #afterFirst(waiting: readonly Waiting[], delivered: readonly Delta<Item>[], isHeld: boolean): (readonly Waiting[])[] {
    if (this.#merging === 'always') return []
    const firsts = waiting.filter(({ isSecond }) => !isSecond)
    const last = this.#merging === 'never' ? 0 : firsts.length - delivered.length
    const left: (readonly Waiting[])[] = []
    for (let from = 0; from <= last; from++) {
      const rest = firsts.slice(from)
      const isIt = delivered.every((delta, at) => isSame(delta, rest[at]?.change))
      if (isIt && notesOf(firsts.slice(0, from), isHeld).length === 0) left.push(rest.slice(delivered.length))
    }
    return left
  }

  /** The possible pending changes after a merge of all was delivered; more may have arrived since. */
  #afterMerged(
    waiting: readonly Waiting[],
    delivered: readonly Delta<Item>[],
    isHeld: boolean,
  ): (readonly Waiting[])[] {
    if (this.#merging === 'never') return []
    const left: (readonly Waiting[])[] = []
    for (let upTo = waiting.length; upTo > 0; upTo--) {
      const way = this.#waysOf(waiting.slice(0, upTo)).find((each) => {
        const notes = notesOf(each, isHeld)
        return notes.length === delivered.length && delivered.every((delta, at) => isSame(delta, notes[at]))
      })
      if (way === undefined) continue
      const deletes = way.filter(({ change }) => change.type === 'delete')
      if (isHeld && deletes.length > 1) this.#scenario.mark('the queue by hand merged two deletes of a key')
      left.push(waiting.slice(upTo))
    }
    return left
  }

  /** A second delete that arrived before any merge is dropped, at an unknown time. */
  #waysOf(taken: readonly Waiting[]): readonly (readonly Waiting[])[] {
    if (this.#merging === 'always') return [taken]
    const seconds = taken.filter(({ isSecond }) => isSecond)
    return [0, ...seconds.keys().map((at) => at + 1)].map((dropped) => {
      const gone = new Set(seconds.slice(0, dropped))
      return restated(taken.filter((each) => !gone.has(each)))
    })
  }

  #order({ key, object: { n }, version }: Delta<Item>): void {
    const { history, settings, violate } = this.#scenario
    if (version === undefined || settings.isBreach) return
    const { epoch } = history.at(version)
    const newest = this.#newest.get(key)
    if (newest !== undefined && epoch < newest.epoch)
      violate('I11', `${nameOf(key)} leaves the queue as of epoch ${epoch}, after ${newest.epoch}`)
    if (newest?.epoch === epoch && n < newest.n)
      violate('I3', `${nameOf(key)} leaves the queue as n${n}, after n${newest.n}`)
    this.#newest.set(key, { n, epoch })
  }
}

/** A second delete without a last state takes it from the delete before, if that was not dropped. */
function restated(waiting: readonly Waiting[]): readonly Waiting[] {
  const result: Waiting[] = []
  for (const each of waiting) {
    const before = result.at(-1)?.change
    if (!each.isBare || before?.type !== 'delete') result.push(each)
    else result.push({ ...each, change: { ...before, version: each.change.version } })
  }
  return result
}

/** Removes equal possibilities: each is an end of the same changes, with its second deletes or without. */
function distinct(left: readonly (readonly Waiting[])[]): readonly (readonly Waiting[])[] {
  const shapeOf = (waiting: readonly Waiting[]): string =>
    waiting.map(({ isSecond }) => (isSecond ? 'second' : 'first')).join()
  return [...new Map(left.map((waiting) => [shapeOf(waiting), waiting])).values()]
}

function notesOf(waiting: readonly Waiting[], isHeld: boolean): readonly MergedChange[] {
  const [first] = waiting
  const known = new Set(isHeld && first !== undefined ? [first.change.key] : [])
  return mergedOf(
    waiting.map(({ change }) => change),
    known,
  )
}

/** Objects are compared by content: a store may keep an older equal one. */
function isSame({ type, object, version }: Delta<Item>, noted: MergedChange | undefined): boolean {
  if (noted === undefined || noted.version !== version || noted.object.n !== object.n) return false
  return (type === 'deleted') === (noted.type === 'delete')
}
