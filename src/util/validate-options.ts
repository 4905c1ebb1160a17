import { OptionError } from '../contract/errors.js'
import { redact } from './redact.js'
import { isThenable, membersOf } from './type-guards.js'

/** Returns why a value is wrong; undefined if it is allowed. */
export type OptionCheck = (value: unknown) => string | undefined

export const isAny: OptionCheck = () => undefined
export const isFunction: OptionCheck = (value) => (typeof value === 'function' ? undefined : 'must be a function')
export const isBoolean: OptionCheck = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')
export const isString: OptionCheck = (value) => (typeof value === 'string' ? undefined : 'must be a string')
export const isObject: OptionCheck = (value) =>
  typeof value === 'object' && value !== null ? undefined : 'must be an object'
/** The check of an option that only tests use. No message names it as allowed. */
export const isInternal: OptionCheck = (value) => isObject(value)
/** An object whose properties are data: no Map, array or instance of a class. It may be of another realm. */
export const isPlainObject: OptionCheck = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a plain object'
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null ? undefined : 'must be a plain object'
}
/** The scope `where`: values of indexes. Each condition counts: one that is lost would select more objects. */
export const isWhere: OptionCheck = (value) => {
  const names = Object.keys(membersOf(value))
  if (isPlainObject(value) !== undefined || Reflect.ownKeys(membersOf(value)).length > names.length)
    return 'must be a plain object'
  const name = names.find((each) => membersOf(value)[each] === undefined)
  return name === undefined ? undefined : `has no value for the index "${name}"`
}
export const isName: OptionCheck = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be a string that is not empty'

export const isNames: OptionCheck = (value) =>
  Array.isArray(value) && value.every((each) => isName(each) === undefined) ? undefined : 'must be an array of names'

/** A duration or a size: a number above 0. */
export const isPositive: OptionCheck = (value) =>
  typeof value === 'number' && value > 0 && Number.isFinite(value) ? undefined : 'must be a finite number above 0'

export const isDelay: OptionCheck = (value) =>
  value === 0 || isPositive(value) === undefined ? undefined : 'must be a finite number of at least 0'

export const isDelayOrInfinity: OptionCheck = (value) =>
  value === Infinity || isDelay(value) === undefined ? undefined : 'must be a number of at least 0, or Infinity'

export const isCount: OptionCheck = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
    ? undefined
    : 'must be a whole number of at least 1'

export const isSignal: OptionCheck = (value) => (value instanceof AbortSignal ? undefined : 'must be an AbortSignal')

/** The flaw names the first wrong element. */
export function isListOf(what: string, isOne: (value: unknown) => boolean): OptionCheck {
  return (value) => {
    if (!Array.isArray(value)) return `must be an array of ${what}`
    const wrong = value.findIndex((each) => !isOne(each))
    return wrong === -1 ? undefined : `must be an array of ${what} (wrong: element ${wrong})`
  }
}

export function isOneOf(...allowed: readonly string[]): OptionCheck {
  return (value) =>
    allowed.some((each) => each === value) ? undefined : `must be one of ${allowed.map(quote).join(', ')}`
}

/** Options whose value may hold a password, a key or a token: a message names its type and does not quote the value. */
const holdsSecrets: ReadonlySet<string> = new Set([
  'auth',
  'client',
  'connect',
  'credentials',
  'encryptionKey',
  'endpoints',
  'kubeConfig',
  'password',
  'privateKey',
  'token',
])

/** Names of other sources, earlier versions and drivers, with the options that may be meant. */
const MEANT: ReadonlyMap<string, readonly string[]> = new Map([
  ['where', ['sql', 'labelSelector', 'subjects']],
  ['filter', ['sql', 'labelSelector', 'subjects', 'where']],
  ['client', ['connect', 'kubeConfig']],
  ['pool', ['connect', 'client']],
  ['connect', ['client']],
  ['connection', ['connect', 'client']],
  ['connectionString', ['connect', 'client', 'endpoints']],
  ['url', ['connect', 'client', 'endpoints']],
  ['hosts', ['endpoints']],
  ['stallMs', ['timeoutMs']],
  ['heartbeatTimeoutMs', ['timeoutMs']],
  ['timeout', ['timeoutMs']],
  ['progressMs', ['heartbeatMs']],
  ['blockMs', ['heartbeatMs']],
  ['staleAfterMs', ['silentAfterMs']],
  ['replicas', ['leases', 'streamReplicas']],
])

export function assertPresent<O extends object>(
  call: string,
  options: O,
  option: keyof O & string,
  example: string,
): void {
  if (options?.[option] === undefined)
    throw new OptionError(`${call}: option "${option}" is missing; for example ${example}`, { option })
}

/** An option that is `undefined` counts as absent. A `call` that is a function is called for an error only. */
export function checkOptions(
  call: string | (() => string),
  options: unknown,
  checks: Readonly<Record<string, OptionCheck>>,
): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError(`${nameOf(call)}: the options must be an object`)
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name)) {
      const allowed = Object.keys(checks).filter((each) => checks[each] !== isInternal)
      const meant = MEANT.get(name)?.find((each) => allowed.includes(each))
      const hint = meant === undefined ? '' : `; use ${quote(meant)}`
      const flaw = `unknown option ${quote(name)}${hint}; allowed are ${allowed.join(', ')}`
      throw new OptionError(`${nameOf(call)}: ${flaw}`, { option: name })
    }
    if (value === undefined) continue
    const flaw = checks[name]?.(value)
    if (flaw === undefined) continue
    throw new OptionError(
      `${nameOf(call)}: option ${quote(name)} ${flaw}, got ${holdsSecrets.has(name) ? showType(value) : show(value)}`,
      { option: name },
    )
  }
}

/** Checks the scope of another program. A `where` that is undefined is a mistake: it would select all objects. */
export function checkScope(call: string, scope: object, checks: Readonly<Record<string, OptionCheck>> = {}): void {
  const where = 'where' in scope && scope.where === undefined ? null : membersOf(scope)['where']
  checkOptions(call, { ...scope, where }, { where: isWhere, ...checks })
}

function nameOf(call: string | (() => string)): string {
  return typeof call === 'string' ? call : call()
}

function quote(text: string): string {
  return `"${text}"`
}

function show(value: unknown): string {
  if (typeof value !== 'string')
    return typeof value === 'object' || typeof value === 'function' ? showType(value) : String(value)
  const safe = redact(value) // Before it is cut: a secret is recognized by what follows it, too.
  return quote(safe.length > 40 ? `${safe.slice(0, 40)}…` : safe)
}

function showType(value: unknown): string {
  if (value === null) return 'null'
  if (isThenable(value)) return 'a promise: await it first'
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object'
  return `a ${typeof value}`
}
