import { SourceError } from '../../../src/contract/errors.js'
import { secretIn } from '../backend/driver-errors.js'
import type { Scenario } from '../system/scenario.js'

const PHASES: readonly unknown[] = ['list', 'watch', 'decode', 'apply', 'handle']
const CODES: readonly string[] = [
  ...'VERSION_EXPIRED EPOCH_CHANGED STALE_LIST UNAVAILABLE UNAUTHORIZED NOT_FOUND PROTOCOL DECODE'.split(' '),
  ...'TIMEOUT STOPPED HANDLER'.split(' '),
]

/** Checks a reported error: its code, its phase, its source, and that it contains no secret. */
export function checkErrorReport(
  scenario: Scenario,
  error: SourceError,
  isSource: (name: string | undefined) => boolean,
): void {
  const { violate } = scenario
  const { phase, source, code, message } = error
  checkSecrets(scenario, error, 'an error that was reported')
  if (!(error instanceof SourceError)) violate('errors', `the reported error is not a SourceError: ${message}`)
  if (message === '') violate('errors', `an error with code ${code} has no message`)
  if (!CODES.includes(code)) violate('errors', `an error has the code ${code}: ${message}`)
  if (!PHASES.includes(phase)) violate('errors', `an error has no phase: ${message}`)
  if (!isSource(source)) violate('errors', `an error of the phase ${phase} is of the source ${source}: ${message}`)
}

/** An error that rejects or is reported contains no secret. */
export function checkSecrets({ violate }: Scenario, error: unknown, what: string): void {
  const where = secretIn(error)
  if (where !== undefined) violate('errors', `${what} contains a password in its ${where}`)
}
