import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import type { RandomDecisions } from '../workload/random-decisions.js'

/** A password in the messages of drivers. No reported error contains it. */
const SECRET = 'hunter2'
const ADDRESS = `postgres://reader:${SECRET}@db.example:5432/app`

const thrownByDrivers: readonly (() => unknown)[] = [
  () => new Error('the connection was lost'),
  () => `cannot connect to ${ADDRESS}`,
  () => new Error(`cannot connect: password=${SECRET}`),
  () => new Error('cannot connect', { cause: `refused by ${ADDRESS}` }),
  () => new Error('cannot connect', { cause: new Error(`sent authorization: Bearer ${SECRET}`) }),
  () => Object.assign(new Error('cannot connect'), { address: ADDRESS }),
  () => new AggregateError([new Error(`cannot connect to ${ADDRESS}`), 'no route']),
  () => ({ message: `token=${SECRET}` }),
  () => Object.create(null),
]

const thrownBare: readonly (() => unknown)[] = [
  () => new Error('the connection was lost'),
  () => 'the connection was lost',
  () => 404,
  () => null,
  () => Object.create(null),
]

/** An error of a driver, as the adapters of this package report it. Some of these errors have a phase. */
export function driverError(decisions: RandomDecisions, code: SourceErrorCode, phase: 'list' | 'watch'): SourceError {
  const thrown = decisions.pick('what a driver throws', thrownByDrivers)()
  const isLocated = decisions.chance('says in which step', 0.4)
  return new SourceError(redact(messageOf(thrown)), { code, cause: redactError(thrown), ...(isLocated && { phase }) })
}

export function bareError(decisions: RandomDecisions): unknown {
  return decisions.pick('what is thrown bare', thrownBare)()
}

/** The property of an error that contains the secret: its message, stack, causes or another one. */
export function secretIn(error: unknown, depth = 0): string | undefined {
  if (typeof error === 'string') return error.includes(SECRET) ? 'a text' : undefined
  if (typeof error !== 'object' || error === null || depth > 8) return undefined
  const names = Object.getOwnPropertyNames(error)
  return names.find((name) => secretIn((error as Readonly<Record<string, unknown>>)[name], depth + 1) !== undefined)
}
