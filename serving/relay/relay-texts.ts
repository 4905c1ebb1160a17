import { type Properties, propertiesOf } from '../../adapters/common/properties.js'
import { decodeValue, encodeValue, survivesJson } from '../../adapters/common/value-encoding.js'
import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { Entry, ListEvent } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'

/** The key of the header. Keys of objects that begin with this character are quoted. */
export const HEADER_KEY = '\0relay'
const QUOTED = '\0"'

/** What a relay knows of the collection. It is written with the objects, so that another relay can continue. */
export interface RelayHeader {
  /** The relay that wrote it, and the number of its write. */
  readonly writer: string
  readonly write: number
  /** Grows by one if the upstream has another history. */
  readonly epoch: number
  /** Whether all objects are of `version`. While a large batch is written in several parts, some are newer. */
  readonly isWhole: boolean
  /** The version of the upstream source; undefined while its mirror has none. */
  readonly version?: Version | undefined
  readonly fingerprint?: string | undefined
  /** Whether keys that `transform` filters out are missing. Then no mirror starts from these objects. */
  readonly hasFiltered?: boolean | undefined
  readonly resumeState?: string | undefined
}

/** The reason of an object whose text the store could not take begins with this. */
const UNRELAYED = 'it cannot be relayed: '

export function unrelayedText(why: string, version?: Version): string {
  return JSON.stringify({ invalid: UNRELAYED + why, version })
}

/** Whether the store lacks an object with this reason, although the source may have it. */
export function isUnrelayed(reason: string): boolean {
  return reason.startsWith(UNRELAYED)
}

const FORMAT = 1

export function headerText(header: RelayHeader): string {
  return JSON.stringify({ format: FORMAT, ...header })
}

/** Undefined if there is no header. Throws PROTOCOL if it is not one of this format. */
export function parseHeader(text: string | undefined): RelayHeader | undefined {
  if (text === undefined) return undefined
  const { format, writer, write, epoch, isWhole, version, fingerprint, hasFiltered, resumeState } = fieldsOf(text)
  if (typeof format === 'number' && format !== FORMAT) {
    const difference = `the store of the relay has format ${format}, and this version of listwatch has format ${FORMAT}`
    throw new SourceError(`${difference}: update the older one, or choose another name for the store`, {
      code: 'PROTOCOL',
    })
  }
  if (format !== FORMAT || typeof writer !== 'string' || typeof write !== 'number' || typeof epoch !== 'number') {
    const flaw = 'the header of the store is not one of a relay: another program has written it'
    throw new SourceError(`${flaw}; remove what it has written, or choose another name`, { code: 'PROTOCOL' })
  }
  return {
    writer,
    write,
    epoch,
    isWhole: isWhole === true,
    version: textOf(version),
    fingerprint: textOf(fingerprint),
    hasFiltered: hasFiltered === true,
    resumeState: textOf(resumeState),
  }
}

/** The key of an object in the store: without lone surrogates. */
export function encodeKey(key: string): string {
  return key !== '' && key.isWellFormed() && !key.startsWith('\0') ? key : `\0${JSON.stringify(key)}`
}

export function decodeKey(stored: string): string {
  return stored.startsWith(QUOTED) ? String(JSON.parse(stored.slice(1))) : stored
}

/** The text of an object, and of the reason why its newest state is invalid; undefined if there is neither. */
export function objectText(entry: Entry<unknown> | undefined, invalid: string | undefined): string | undefined {
  if (entry === undefined) return invalid === undefined ? undefined : JSON.stringify({ invalid })
  const { object, version, uid } = entry
  try {
    return survivesJson(object)
      ? JSON.stringify({ object, version, uid, invalid })
      : JSON.stringify({ encoded: encodeValue(object), version, uid, invalid })
  } catch (error) {
    return unrelayedText(messageOf(error), version)
  }
}

export function withoutVersion<T>({ version: _, ...entry }: Entry<T>): Entry<T> {
  return entry
}

/** Whether two texts of one key have the same version, so that followers would ignore the second one. */
export function hasSameVersion(text: string | undefined, other: string | undefined): boolean {
  const version = text === undefined ? undefined : fieldsOf(text)['version']
  return version !== undefined && other !== undefined && parsed(other)['version'] === version
}

/** A text that is not one of a relay, or one of another version. */
export class UnreadableText extends Error {
  override readonly name: string = 'UnreadableText'
}

/** The events of a change of the collection, for a follower. */
export function eventsOf<T>(event: ListEvent<string>): readonly ListEvent<T>[] {
  if (event.key === undefined) return [event as ListEvent<never>]
  const key = decodeKey(event.key)
  if (event.type === 'delete') return [{ type: 'delete', key }]
  if (event.type === 'invalid') {
    const { error: cause } = event
    return [{ ...event, key, error: new UnreadableText(messageOf(cause), { cause }) }]
  }
  try {
    const fields = parsed(event.object)
    const [version, uid, invalid] = [textOf(fields['version']), textOf(fields['uid']), textOf(fields['invalid'])]
    const hasObject = 'object' in fields || 'encoded' in fields
    if (!hasObject && invalid === undefined) throw new SyntaxError('it is not the text of a relayed object')
    const object = ('encoded' in fields ? decodeValue(fields['encoded']) : fields['object']) as T
    const own = { ...(version === undefined ? {} : { version }), ...(uid === undefined ? {} : { uid }) }
    const events: ListEvent<T>[] = []
    if (hasObject) events.push({ type: 'put', key, object, ...own })
    if (invalid !== undefined) events.push({ type: 'invalid', key, error: new Error(invalid), hasLastValid: hasObject })
    return events
  } catch (cause) {
    const remedy = 'if a relay of a later version of listwatch has written it, update this process'
    return [{ type: 'invalid', key, error: new UnreadableText(`${messageOf(cause)}; ${remedy}`, { cause }) }]
  }
}

function parsed(text: string): Properties {
  return propertiesOf(JSON.parse(text))
}

/** The fields of a text that another program may have written; none if it is not JSON. */
function fieldsOf(text: string): Properties {
  try {
    return parsed(text)
  } catch {
    return {}
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
