import { type Properties, propertiesOf } from '../../adapters/common/properties.js'
import { decodeValue, encodeValue, survivesJson } from '../../adapters/common/value-encoding.js'
import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { ListEvent } from '../../src/contract/source.js'

type KeyedEvent = ListEvent<unknown> & { readonly key: string }

/** The reason of an invalid object. Its own reason may quote what the schema or the transform of the mirror removes. */
const INVALID = 'its newest state is invalid in the mirror that is served; `invalid` of that informer has the reason'

/**
 * An event as JSON text. An object that JSON would change has its encoded form as `encoded`. If the newest state of the
 * object is invalid, `object` is the last valid one, and the field `invalid` has the reason.
 */
export function eventText(event: ListEvent<unknown>, isInvalid = false): string {
  if (event.type !== 'put') return JSON.stringify(event)
  const fields = isInvalid ? { ...event, invalid: INVALID } : event
  if (survivesJson(event.object)) return JSON.stringify(fields)
  const { object, ...rest } = fields
  try {
    return JSON.stringify({ ...rest, encoded: encodeValue(object) })
  } catch (error) {
    return JSON.stringify({ type: 'invalid', key: event.key, error: messageOf(error) })
  }
}

/** The events of an invalid object of which the mirror has no valid state, as JSON text. */
export function invalidText(key: string): string {
  return `${JSON.stringify({ type: 'delete', key })},${JSON.stringify({ type: 'invalid', key, error: INVALID, hasLastValid: true })}`
}

/** The last valid state of an invalid object is followed by its `invalid` event. Throws PROTOCOL for other values. */
export function eventsIn(parsed: unknown): ListEvent<unknown>[] {
  if (!Array.isArray(parsed)) throw notEvents()
  const events: ListEvent<unknown>[] = []
  for (const each of parsed) {
    const fields = propertiesOf(each)
    const event = eventIn(fields)
    events.push(event)
    const { invalid } = fields
    if (typeof invalid === 'string')
      events.push({ type: 'invalid', key: event.key, error: new TypeError(invalid), hasLastValid: true })
  }
  return events
}

function eventIn(fields: Properties): KeyedEvent {
  const { type, key, error } = fields
  if (typeof key !== 'string') throw notEvents()
  switch (type) {
    case 'put':
      return putOf(key, fields)
    case 'delete':
      return { type, key }
    case 'invalid':
      return { type, key, error: new TypeError(String(error)), hasLastValid: fields['hasLastValid'] === true }
    default:
      throw new SourceError(
        `the response has an event of the type ${JSON.stringify(type)}: ` +
          'its server has another version of listwatch, or is not serveHttp; update this follower',
        { code: 'PROTOCOL' },
      )
  }
}

/** An object in a form that only another version of the server knows is invalid. The others can be used. */
function putOf(key: string, fields: Properties): KeyedEvent {
  const { object, encoded, version, uid } = fields
  if (encoded === undefined && !('object' in fields)) {
    const missing = 'the object is missing: its server has another version of listwatch; update this follower'
    return { type: 'invalid', key, error: new TypeError(missing) }
  }
  const ofObject = { ...(typeof version === 'string' && { version }), ...(typeof uid === 'string' && { uid }) }
  try {
    return { type: 'put', key, object: encoded === undefined ? object : decodeValue(encoded), ...ofObject }
  } catch (thrown) {
    return { type: 'invalid', key, error: thrown }
  }
}

function notEvents(): SourceError {
  return new SourceError('the response is not one of serveHttp', { code: 'PROTOCOL' })
}
