import type { WatchEvent } from '../../src/contract/source.js'

/** The contents of a collection: values by key. */
export type Values = ReadonlyMap<string, string>

export class ExpectedContents {
  readonly values: Map<string, string>
  readonly invalid: Set<string>
  readonly #read: (object: unknown) => string

  constructor(read: (object: unknown) => string, from?: ExpectedContents) {
    this.#read = read
    this.values = new Map(from?.values)
    this.invalid = new Set(from?.invalid)
  }

  copy(): ExpectedContents {
    return new ExpectedContents(this.#read, this)
  }

  apply(events: readonly WatchEvent<unknown>[]): void {
    for (const event of events) {
      if (event.type === 'replace') {
        this.values.clear()
        this.invalid.clear()
        for (const entry of event.entries) this.#put(entry.key, entry.object)
      } else if (event.type === 'put') this.#put(event.key, event.object)
      else if (event.key !== undefined) {
        this.values.delete(event.key)
        if (event.type === 'invalid') this.invalid.add(event.key)
        else this.invalid.delete(event.key)
      }
    }
  }

  #put(key: string, object: unknown): void {
    this.values.set(key, this.#read(object))
    this.invalid.delete(key)
  }
}

export function areEqual(a: Values, b: Values): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (b.get(key) !== value) return false
  return true
}

export function difference(actual: Values, expected: Values): string {
  const differences: string[] = []
  for (const [key, value] of expected) {
    const found = actual.get(key)
    if (found === undefined) differences.push(`${printable(key)} is missing`)
    else if (found !== value) differences.push(`${printable(key)} is ${differenceOfTexts(found, value)}`)
  }
  for (const key of actual.keys()) if (!expected.has(key)) differences.push(`${printable(key)} should not be there`)
  const rest = differences.length - 5
  return `${differences.slice(0, 5).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`
}

/** Texts that begin alike are printed from the first difference on. */
function differenceOfTexts(actual: string, expected: string): string {
  let at = 0
  while (at < actual.length && actual[at] === expected[at]) at++
  if (at < 20) return `${printable(actual)} instead of ${printable(expected)}`
  const [found, wanted] = [actual, expected].map((text) => printable(text.slice(at)))
  const lengths = `${actual.length} characters instead of ${expected.length}`
  return `${printable(actual.slice(0, at))} and then ${found} instead of ${wanted} (${lengths}, different from character ${at + 1} on)`
}

export function printable(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
