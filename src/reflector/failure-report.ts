import { OptionError, SourceError } from '../contract/errors.js'
import type { ReflectorState } from './reflector-state-types.js'

/** Returns the error to report. Its message says what failed, of which source, and what happens next. */
export function failureReport(error: SourceError, state: ReflectorState, now: number): SourceError {
  // The retry may be due already.
  const inSeconds = ('retryAt' in state ? Math.max(0, state.retryAt - now) / 1_000 : 0).toFixed(1)
  const isWatchNext = 'next' in state && state.next.type === 'watch'
  const mistake = error.cause instanceof OptionError ? 'a mistake in the program; ' : ''
  const then = `${mistake}${isWatchNext ? 'reconnecting' : 'listing again'}`
  const message = `${error.phase} of ${error.source} failed: ${error.message}; ${then} in ${inSeconds} s`
  const { code, phase, source, key, retryAfterMs } = error
  return new SourceError(message, { code, cause: error.cause ?? error, retryAfterMs, key, phase, source })
}
