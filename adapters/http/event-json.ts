import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { ListEvent } from '../../src/contract/source.js'
import { decodeValue, encodeValue, survivesJson } from '../shared/value-encoding.js'

/** An event as JSON text. An object that JSON would change has its encoded form as `encoded`. */
export function eventText(event: ListEvent<unknown>): string {
  if (event.type !== 'put' || survivesJson(event.object)) return JSON.stringify(event)
  const { object, ...rest } = event
  try {
    return JSON.stringify({ ...rest, encoded: encodeValue(object) })
  } catch (error) {
    return JSON.stringify({ type: 'invalid', key: event.key, error: messageOf(error) })
  }
}

/**
 * Returns the events of a parsed response.
 *
 * @throws SourceError PROTOCOL if it is not a list of events.
 */
export function eventsIn(parsed: unknown): ListEvent<unknown>[] {
  if (!Array.isArray(parsed)) throw notEvents()
  return parsed.map(eventIn)
}

function eventIn(parsed: unknown): ListEvent<unknown> {
  const { type, key, object, encoded, error, version, uid }: Readonly<Record<string, unknown>> = Object(parsed)
  if (typeof key !== 'string') throw notEvents()
  const ofObject = {
    ...(typeof version === 'string' && { version }),
    ...(typeof uid === 'string' && { uid }),
  }
  switch (type) {
    case 'put':
      return { type, key, object: encoded === undefined ? object : decodeValue(encoded), ...ofObject }
    case 'delete':
      return { type, key }
    case 'invalid':
      return { type, key, error: new TypeError(String(error)) }
    default:
      throw notEvents()
  }
}

function notEvents(): SourceError {
  return new SourceError('the response is not one of serveMirror', { code: 'PROTOCOL' })
}
