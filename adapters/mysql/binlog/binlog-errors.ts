import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { propertiesOf } from '../../common/properties.js'

/** A server that cannot send its binary log. */
const CANNOT_SEND = 1236
/** The user has no right, or does not exist. */
const NO_ACCESS = new Set<unknown>([1044, 1045, 1142, 1143, 1227, 1698])

/** The log does not have the position or the transaction, or has other bytes there. A list gets past damaged bytes. */
const WRONG_POSITION =
  /impossible position|position > file size|middle of event|bogus data|exceeded max_allowed_packet|crc check|more GTIDs|not in the master|missing the GTID|diverged/i

/** Converts an error of the driver, the network or the server while the binary log is read. */
export function binlogError(thrown: unknown): SourceError {
  if (thrown instanceof SourceError) return thrown
  const message = redact(messageOf(thrown))
  return new SourceError(message, {
    code: codeOf(propertiesOf(thrown)['errno'], message),
    cause: redactError(thrown),
  })
}

function codeOf(errno: unknown, message: string): SourceErrorCode {
  if (NO_ACCESS.has(errno)) return 'UNAUTHORIZED'
  if (errno !== CANNOT_SEND) return 'UNAVAILABLE'
  // Another reader took the id of this one.
  if (/same server_(uu)?id/i.test(message)) return 'UNAVAILABLE'
  if (/purged|could not find first log/i.test(message)) return 'VERSION_EXPIRED'
  return WRONG_POSITION.test(message) ? 'EPOCH_CHANGED' : 'UNAVAILABLE'
}
