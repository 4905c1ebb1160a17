/** An object of the source. `n` is the number of the transaction that wrote it. */
export type Item = { readonly n: number; readonly tenant: Tenant; readonly padding?: string }

export const tenants = ['a', 'b'] as const
export type Tenant = (typeof tenants)[number]
/** The objects that a follower has: those of a tenant, or all. */
export type Scope = Tenant | 'all'

/** Each state that the source had, in order. */
export class UpstreamStates {
  readonly content = new Map<string, Item>()
  /** The number of the history of each state. */
  readonly #histories: number[] = []
  readonly #indexes: Readonly<Record<Scope, Map<string, number>>> = { all: new Map(), a: new Map(), b: new Map() }
  #history = 0

  get last(): number {
    return this.#histories.length - 1
  }

  get history(): number {
    return this.#history
  }

  historyOf(index: number): number {
    return this.#histories[index] ?? 0
  }

  fork(): void {
    this.#history++
  }

  /** The content of now is a state. */
  remember(): void {
    for (const scope of ['all', ...tenants] as const) {
      const entries = [...this.content].filter(([, { tenant }]) => scope === 'all' || tenant === scope)
      this.#indexes[scope].set(textOf(entries), this.#histories.length)
    }
    this.#histories.push(this.#history)
  }

  /** The index of the state in which a scope had this text; undefined if there was none. */
  indexOf(scope: Scope, text: string): number | undefined {
    return this.#indexes[scope].get(text)
  }
}

/** Entries as a text, in any order. */
export function textOf(entries: Iterable<readonly [string, Item]>): string {
  return Array.from(entries, ([key, { n, tenant }]) => `${key}=${n}${tenant}`)
    .sort()
    .join(' ')
}
