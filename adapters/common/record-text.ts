import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { SavedRecord } from '../../src/contract/mirror-cache.js'
import { decodeValue, encodeValue, survivesJson, UnsavableValue } from './value-encoding.js'

const ENTRY = 0
/** An entry whose object has values that JSON loses. */
const TAGGED_ENTRY = 1
const FILTERED = 2
const INVALID = 3

/**
 * Returns a record as a JSON text. `failure` begins the message of an error: "file cache a.cache cannot save".
 *
 * @throws SourceError PROTOCOL with the key, if its object cannot be encoded.
 */
export function encodeRecord(record: SavedRecord, failure: string): string {
  try {
    return JSON.stringify(fieldsOf(record))
  } catch (error) {
    const flaw = error instanceof UnsavableValue ? error.message : `the object cannot be encoded: ${messageOf(error)}`
    throw new SourceError(`${failure} the object ${JSON.stringify(record.key)}: ${flaw}`, {
      code: 'PROTOCOL',
      key: record.key,
      cause: error,
    })
  }
}

function fieldsOf(record: SavedRecord): readonly unknown[] {
  const { type, key, version } = record
  switch (type) {
    case 'entry': {
      const { object, uid } = record
      const fields = survivesJson(object) ? [ENTRY, key, object] : [TAGGED_ENTRY, key, encodeValue(object)]
      // JSON writes undefined as null.
      if (version !== undefined || uid !== undefined) fields.push(version, uid)
      return fields
    }
    case 'filtered':
      return [FILTERED, key, version]
    case 'invalid':
      return [INVALID, key, version, record.reason]
  }
}

export function decodeRecord(text: string): SavedRecord {
  const fields: unknown = JSON.parse(text)
  if (!Array.isArray(fields)) throw new SyntaxError('a record is not an array')
  const [type, key, third, fourth, fifth]: readonly unknown[] = fields
  if (typeof key !== 'string') throw new SyntaxError('a record has no key')
  switch (type) {
    case ENTRY:
      return entry(key, third, fourth, fifth)
    case TAGGED_ENTRY:
      return entry(key, decodeValue(third), fourth, fifth)
    case FILTERED:
      return { type: 'filtered', key, version: textOf(third) }
    case INVALID:
      return { type: 'invalid', key, version: textOf(third), reason: String(fourth) }
    default:
      throw new SyntaxError('a record has an unknown type')
  }
}

function entry(key: string, object: unknown, version: unknown, uid: unknown): SavedRecord {
  if (typeof version !== 'string') {
    return typeof uid === 'string' ? { type: 'entry', key, object, uid } : { type: 'entry', key, object }
  }
  if (typeof uid !== 'string') return { type: 'entry', key, object, version }
  return { type: 'entry', key, object, version, uid }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
