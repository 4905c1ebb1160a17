/** Says what is wrong with a value, or undefined where nothing is. */
export type OptionCheck = (value: unknown) => string | undefined

export const isAny: OptionCheck = () => undefined
export const isFunction: OptionCheck = (value) => (typeof value === 'function' ? undefined : 'must be a function')
export const isBoolean: OptionCheck = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')
export const isString: OptionCheck = (value) => (typeof value === 'string' ? undefined : 'must be a string')
export const isObject: OptionCheck = (value) =>
  typeof value === 'object' && value !== null ? undefined : 'must be an object'
export const isName: OptionCheck = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be a string that is not empty'

/** A duration or a size: a number above 0. */
export const isPositive: OptionCheck = (value) =>
  typeof value === 'number' && value > 0 && Number.isFinite(value) ? undefined : 'must be a finite number above 0'

/** A count: a whole number of at least 1. */
export const isCount: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'must be a whole number of at least 1'

export const isSignal: OptionCheck = (value) => (value instanceof AbortSignal ? undefined : 'must be an AbortSignal')

export function isOneOf(...allowed: readonly string[]): OptionCheck {
  return (value) => (allowed.includes(value as string) ? undefined : `must be one of ${allowed.map(quote).join(', ')}`)
}

/**
 * Refuses a misspelt or senseless option at the call, with a TypeError that names the call, the option and what is
 * allowed. `undefined` always means: not given.
 */
export function checkOptions(call: string, options: unknown, checks: Readonly<Record<string, OptionCheck>>): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null) throw new TypeError(`${call}: the options must be an object`)
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name)) {
      throw new TypeError(`${call}: unknown option ${quote(name)}; allowed are ${Object.keys(checks).join(', ')}`)
    }
    if (value === undefined) continue
    const flaw = checks[name]?.(value)
    if (flaw !== undefined) throw new TypeError(`${call}: option ${quote(name)} ${flaw}, got ${show(value)}`)
  }
}

function quote(text: string): string {
  return `"${text}"`
}

function show(value: unknown): string {
  if (typeof value === 'string') return quote(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
