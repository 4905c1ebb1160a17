import { internalsOf } from '../../../src/informer/internals.js'
import type { ViewInputs } from '../../../src/informer/sources/view-inputs.js'
import type { Item } from '../backend/history.js'
import { type Invariant, nameOf, type Scenario } from '../system/scenario.js'
import type { Dependency, Result, Row, ShownRow, ViewFunction } from './view-function.js'
import type { Reader } from './view-reads.js'

/** The last call of a row inside the view, and what decides whether there is another one, as the inputs show it. */
interface Called {
  readonly depends: readonly Dependency[]
  /** The world outside, on which an impure function depends. */
  readonly outside: number
}

interface KnownRow extends ShownRow {
  readonly called: Called | undefined
  readonly answers: readonly (readonly unknown[])[]
  /** The keys of its last results. */
  readonly keys: readonly string[]
}

interface ModelOptions {
  readonly name: string
  readonly omits: boolean
  /** Whether two results count as equal. */
  readonly equals: (a: Item, b: Item) => boolean
  /** Returns an informer that the function may not read. */
  forbidden(): Reader | undefined
}

/** Compares a view with its function over what its inputs show, whenever something is visible. */
export class ViewModel {
  readonly #scenario: Scenario
  readonly #of: ViewFunction
  readonly #options: ModelOptions
  /** The calls since the last look, by row, and their number. */
  readonly #calls = new Map<string, Called>()
  #count = 0
  #work = { evaluations: 0, followed: 0, changes: 0 }
  #rows = new Map<string, KnownRow>()
  #shown: ReadonlyMap<string, Item> = new Map()
  /** The number of errors inside its store since it was current. */
  defects = 0
  /** The world outside, on which an impure function depends. */
  outside = 0

  constructor(scenario: Scenario, of: ViewFunction, options: ModelOptions) {
    this.#scenario = scenario
    this.#of = of
    this.#options = options
  }

  /** The function of the view. */
  readonly call = (row: Row): readonly Result[] => {
    const { outside } = this
    const depends: Dependency[] = []
    this.#calls.set(row.id, { depends, outside })
    this.#count++
    if (this.#count % 8 === 1) this.#misuse()
    return this.#of.call(row, outside, depends)
  }

  /** Whether rows were called before the world outside has changed, or since the last look. */
  isStale(view: Reader): boolean {
    if (internalsOf(view)?.input.sources.view?.work.evaluations !== this.#work.evaluations) return true
    return (
      !this.isPure &&
      [...this.#rows.values()].some(
        ({ called, isFailing }) => !isFailing && called !== undefined && called.outside !== this.outside,
      )
    )
  }

  get isPure(): boolean {
    return this.#of.isPure
  }

  /** Whether an audit has to find another result. */
  get isWrong(): boolean {
    const { equals } = this.#options
    return [...this.#rows.values()].some((row) => {
      const [was, is] = [row.called?.outside ?? 0, this.outside].map((outside) => this.#resultsOf(row, outside))
      const isEqual = ([key, item]: Result, nth: number): boolean =>
        was?.[nth]?.[0] === key && equals(was[nth][1], item)
      return was?.length !== is?.length || is?.every(isEqual) === false
    })
  }

  /**
   * `changes`: the number of objects of its inputs that have changed since the last look. `isEarly`: a commit is written
   * that readers do not see.
   */
  look(view: Reader, changes: number, isEarly: boolean): void {
    const inputs = internalsOf(view)?.input.sources.view
    if (inputs === undefined) return
    if (!inputs.isCurrent || isEarly) this.#compareKept(view, inputs)
    else this.#compare(view, inputs, changes)
  }

  /** A view that has failed, or is being written, shows what it has shown before. */
  #compareKept(view: Reader, { isCurrent, isListing }: ViewInputs): void {
    if (view.size !== this.#shown.size || [...this.#shown].some(([key, item]) => view.get(key) !== item))
      this.#wrong('X21', 'has changed, and is not evaluated')
    if (isCurrent) return
    if (this.#rows.size > 0 && !isListing && this.defects === 0) this.#wrong('X3', 'does not follow its inputs')
    if (view.health().isReady) this.#wrong('X16', 'is ready, and does not follow its inputs')
  }

  #compare(view: Reader, { work }: ViewInputs, changes: number): void {
    const { evaluations, followed, changes: changed } = this.#work
    this.#work = work
    this.defects = 0
    // Otherwise rows were called in a list or an audit, too.
    const isFollowing = work.evaluations - evaluations === work.followed - followed
    // Otherwise a commit had several changes of an object.
    const isExact = isFollowing && work.changes - changed === changes
    if (isExact && this.#count > this.#calls.size) this.#wrong('X2', 'has called its function twice for one object')
    const rows = new Map<string, KnownRow>()
    const shown = new Map(view.entries())
    let left = shown.size
    let failing = 0
    for (const row of this.#of.shape.rows()) {
      const known = this.#rows.get(row.id)
      const called = this.#calls.get(row.id) ?? known?.called
      if (isFollowing) this.#checkCalled(row, known, isExact)
      const results = this.#resultsOf(row, called?.outside ?? this.outside)
      const kept = this.#options.omits ? [] : (known?.keys ?? [])
      const keys = results?.map(([key]) => key) ?? kept
      if (results === undefined) failing++
      for (const key of keys) this.#checkResult(key, results?.find(([own]) => own === key)?.[1], shown.get(key))
      left -= keys.length
      rows.set(row.id, { ...row, called, keys, answers: called?.depends.map((each) => each()) ?? [] })
    }
    if (left !== 0) this.#wrong('X1', `has ${shown.size} objects, ${left} too many`)
    if (view.invalid.size !== failing) this.#wrong('X12', `has ${view.invalid.size} invalid keys, not ${failing}`)
    this.#rows = rows
    this.#shown = shown
    this.#calls.clear()
    this.#count = 0
  }

  /** The function is called again if, and only if, the object or something that it has read has changed. */
  #checkCalled(row: ShownRow, known: KnownRow | undefined, isExact: boolean): void {
    if (row.isFailing || known?.isFailing) return
    const isCalled = this.#calls.has(row.id)
    const hasChanged =
      known === undefined ||
      !isSame(known.own, row.own) ||
      known.called?.depends.some((each, nth) => !isSame(each(), known.answers[nth] ?? []))
    if (hasChanged && !isCalled) this.#wrong('X6', `has not called its function again for ${nameOf(row.id)}`)
    if (isExact && isCalled && !hasChanged) this.#wrong('X6', `has called its function for ${nameOf(row.id)} in vain`)
    if (isExact) this.#scenario.mark('the calls for a commit were those of the model')
  }

  /** The results by key; undefined if the function fails. */
  #resultsOf({ isFailing, ...row }: ShownRow, outside: number): readonly Result[] | undefined {
    const { shape } = this.#of
    try {
      const results = isFailing ? [] : shape.keyed(row.id, this.#of.call(row, outside))
      if (!isFailing && new Set(results.map(([key]) => key)).size === results.length) return results
    } catch {
      // As in the view.
    }
    this.#scenario.mark('a function failed')
    return undefined
  }

  /** `right`: the result of the function; undefined if it has failed, so that the last one stays. */
  #checkResult(key: string, right: Item | undefined, shown: Item | undefined): void {
    const last = this.#shown.get(key)
    const { equals } = this.#options
    if (shown === undefined || (right === undefined ? shown !== last : !equals(shown, right)))
      this.#wrong('X1', `shows n${shown?.n} at ${nameOf(key)}, and its inputs n${(right ?? last)?.n}`)
    else if (right !== undefined && last !== undefined && last !== shown && equals(last, right))
      this.#wrong('X11', `has another object at ${nameOf(key)}, which equals the last one`)
  }

  /** What would depend on all objects, and what the view does not name, cannot be read. */
  #misuse(): void {
    const { inputs } = this.#of
    const attempts = [() => inputs[0]?.size, () => inputs[0]?.list(), () => this.#options.forbidden()?.get('a') ?? 0]
    for (const attempt of attempts.slice(0, this.#options.forbidden() === undefined ? 2 : 3)) {
      let thrown: unknown
      try {
        attempt()
      } catch (error) {
        thrown = error
      }
      if (!(thrown instanceof TypeError)) this.#wrong('X7', 'can read what it may not read')
    }
  }

  #wrong(rule: string, what: string): void {
    const invariant: Invariant = 'views'
    this.#scenario.violate(invariant, `${rule}: ${this.#options.name} ${what}`)
  }
}

/** Whether two answers have the same elements, in any order. */
function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each))
}
