import type { SourceError } from '../../src/contract/errors.js'
import { CliError } from '../output/cli-error.js'

/**
 * Returns what converts an error that ends a command. `failure` names the engine, such as "cannot read from
 * nats://host:4222", for an error of the connection. `advice` replaces the message by that of the command line.
 */
export function engineError(failure: string, advice: (message: string) => string): (error: SourceError) => CliError {
  return ({ code, message }) =>
    new CliError(`${code === 'UNAVAILABLE' && !isReachedStore(message) ? `${failure}: ` : ''}${advice(message)}`)
}

/** Whether the store of a relay was reached, but does not have a whole batch yet. */
function isReachedStore(message: string): boolean {
  return /\brelay has written\b/.test(message)
}

/** A new relay of the command waits for about this time, because an earlier relay may still write. */
const NEW_RELAY_SECONDS = 9

export function withRelayRemedy(message: string): string {
  const remedy = `start listwatch relay, check the name, or wait: a new relay begins after about ${NEW_RELAY_SECONDS} s`
  return message.replace(/no relay has written to .+? yet/, `$&: ${remedy}`)
}
