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
  const fields: Readonly<Record<string, unknown>> = Object(parsed)
  const { type, key, error } = fields
  if (typeof key !== 'string') throw notEvents()
  switch (type) {
    case 'put':
      return putOf(key, fields)
    case 'delete':
      return { type, key }
    case 'invalid':
      return { type, key, error: new TypeError(String(error)) }
    default:
      throw new SourceError(
        `the response has an event of the type ${JSON.stringify(type)}: ` +
          'its server has another version of listwatch, or is not serveMirror; update this follower',
        { code: 'PROTOCOL' },
      )
  }
}

/** An object in a form that only another version of the server knows is invalid. The others can be used. */
function putOf(key: string, fields: Readonly<Record<string, unknown>>): ListEvent<unknown> {
  const { object, encoded, version, uid } = fields
  if (encoded === undefined && !('object' in fields)) {
    const missing = 'the object is missing: its server has another version of listwatch; update this follower'
    return { type: 'invalid', key, error: new TypeError(missing) }
  }
  const ofObject = {
    ...(typeof version === 'string' && { version }),
    ...(typeof uid === 'string' && { uid }),
  }
  try {
    return { type: 'put', key, object: encoded === undefined ? object : decodeValue(encoded), ...ofObject }
  } catch (thrown) {
    return { type: 'invalid', key, error: thrown }
  }
}

function notEvents(): SourceError {
  return new SourceError('the response is not one of serveMirror', { code: 'PROTOCOL' })
}
