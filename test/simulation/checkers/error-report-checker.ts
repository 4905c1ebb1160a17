import { SourceError } from '../../../src/contract/errors.js'
import { secretIn } from '../backend/driver-errors.js'
import type { Scenario } from '../system/scenario.js'

const PHASES: readonly unknown[] = ['list', 'watch', 'decode', 'apply', 'handle']
const CODES: readonly string[] = [
  'VERSION_EXPIRED',
  'EPOCH_CHANGED',
  'STALE_LIST',
  'UNAVAILABLE',
  'UNAUTHORIZED',
  'NOT_FOUND',
  'PROTOCOL',
  'DECODE',
  'TIMEOUT',
  'STOPPED',
  'HANDLER',
]

/** Judges what is said of a failure: what failed, in which step, of which source, and nothing secret. */
export function checkErrorReport(
  scenario: Scenario,
  error: SourceError,
  isSource: (name: string | undefined) => boolean,
): void {
  const { violate } = scenario
  const { phase, source, code, message } = error
  checkSecrets(scenario, error, 'an error that was reported')
  if (!(error instanceof SourceError)) violate('errors', `what was reported is no SourceError: ${message}`)
  if (message === '') violate('errors', `an error with code ${code} says nothing`)
  if (!CODES.includes(code)) violate('errors', `an error has the code ${code}: ${message}`)
  if (!PHASES.includes(phase)) violate('errors', `an error does not say in which step it was: ${message}`)
  if (!isSource(source)) violate('errors', `an error of the step ${phase} is of the source ${source}: ${message}`)
}

/** What is rejected with, or reported, holds no secret. */
export function checkSecrets({ violate }: Scenario, error: unknown, what: string): void {
  const where = secretIn(error)
  if (where !== undefined) violate('errors', `${what} holds a password in its ${where}`)
}
