import { isUtf8 } from 'node:buffer'
import type { Delete, Invalid, Put } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { assertJsonDepth, MAX_JSON_DEPTH, parseJson } from '../../common/json-depth.js'
import { elementsOf, type Properties, propertiesOf } from '../../common/properties.js'
import { invalidVersionMessage, isResourceVersion } from '../history/resource-version.js'
import { type ApiStatus, statusOf } from '../http/api-error.js'
import type { ItemShape } from './json-list-splitter.js'
import { type ScannedMetadata, scanMetadata } from './metadata-scanner.js'

export type DecodedLine<T> =
  | {
      readonly type: 'put' | 'delete' | 'invalid'
      readonly event: Put<T> | Delete<T> | Invalid
      readonly version: Version | undefined
      /** Whether the object existed before. Otherwise it may be new, or a part of a list. */
      readonly isChange: boolean
    }
  | { readonly type: 'bookmark'; readonly version: Version; readonly isEndOfList: boolean }
  | { readonly type: 'error'; readonly status: ApiStatus }

export interface DecoderOptions {
  /** The type of a list's items, which do not contain it. */
  readonly apiVersion: string
  readonly kind: string
  readonly stripManagedFields: boolean
  readonly metadataOnly: boolean
  readonly maxObjectBytes: number
}

interface KubernetesObject {
  apiVersion?: unknown
  kind?: unknown
  metadata?: unknown
}

/** A smaller object cannot nest deeply enough to overflow the stack. */
const SMALL_BYTES = 4 * 1024
/** The bytes around the object in a line, without the type. */
const LINE_BYTES = '{"type":"","object":}'.length
const END_OF_LIST = 'k8s.io/initial-events-end'

/** Decodes the objects of lists and watches into events. It never throws for data of the server. */
export class Decoder<T> {
  readonly #options: DecoderOptions

  constructor(options: DecoderOptions) {
    this.#options = options
  }

  item(bytes: Buffer, { isWhole, depth }: ItemShape): Put<T> | Invalid {
    try {
      this.#check(bytes, isWhole)
      if (bytes.length > SMALL_BYTES && depth > MAX_JSON_DEPTH)
        throw new RangeError(`it nests deeper than ${MAX_JSON_DEPTH} levels`)
      return this.#put(this.#parsedItem(bytes))
    } catch (error) {
      return invalid(bytes, error)
    }
  }

  /** Decodes an item of a list; undefined if the bytes are not one whole item. */
  tryItem(bytes: Buffer): Put<T> | Invalid | undefined {
    let object: KubernetesObject
    try {
      object = this.#parsedItem(bytes)
    } catch {
      return undefined
    }
    try {
      this.#check(bytes, true)
      assertDepth(bytes)
      return this.#put(object)
    } catch (error) {
      return invalid(bytes, error)
    }
  }

  /** Decodes several items in brackets, with `between` at each border; undefined if the bytes are anything else. */
  tryRun(bytes: Buffer, between: string): readonly Put<T>[] | undefined {
    if (!isUtf8(bytes)) return undefined
    const text = bytes.toString()
    const borders = bordersBetweenSmall(text, between)
    if (borders === undefined) return undefined
    const lead = between.slice(2)
    try {
      // If the text is valid JSON, its brackets enclose whole items.
      const items = elementsOf(JSON.parse(text))
      // The number of items proves that each border separates two of them, so that each item is as small as it seemed.
      if (items.length !== borders + 1 || !items.every((item) => isKubernetesObject(item) && beginsWith(item, lead)))
        return undefined
      return items.map((item) => this.#put(this.#named(item)))
    } catch {
      return undefined
    }
  }

  #parsedItem(bytes: Buffer): KubernetesObject {
    return this.#named(parseJson(bytes.toString()))
  }

  /** Adds kind and apiVersion, which built-in resources have in watch events but not in list items. */
  #named(item: unknown): KubernetesObject {
    if (!isKubernetesObject(item)) throw new TypeError('it is not an object')
    if (item.kind !== undefined) return item
    const { kind, apiVersion } = this.#options
    return { kind, apiVersion, ...item }
  }

  /** Decodes a line of a watch: its bytes, or its text if that is ASCII. */
  line(line: Buffer | string, isWhole: boolean): DecodedLine<T> {
    let raw: Properties
    try {
      this.#check(line, isWhole)
      raw = propertiesOf(parseJson(line.toString()))
      assertDepth(line, 1, LINE_BYTES + String(raw['type']).length)
    } catch (error) {
      return unreadable(line, error)
    }
    const { type, object, kind } = raw
    try {
      switch (type) {
        case 'ADDED':
        case 'MODIFIED': {
          const event = this.#put(object)
          return { type: 'put', event, version: event.version, isChange: type === 'MODIFIED' }
        }
        case 'DELETED': {
          const { key, object: last, version } = this.#put(object)
          const event: Delete<T> = { type: 'delete', key, object: last, ...(version === undefined ? {} : { version }) }
          return { type: 'delete', event, version, isChange: true }
        }
        case 'BOOKMARK': {
          const { resourceVersion, annotations } = metadataOf(object)
          if (!isResourceVersion(resourceVersion))
            throw new TypeError(`a bookmark: ${invalidVersionMessage(resourceVersion)}`)
          return {
            type: 'bookmark',
            version: resourceVersion,
            isEndOfList: propertiesOf(annotations)[END_OF_LIST] === 'true',
          }
        }
        case 'ERROR':
          return { type: 'error', status: statusOf(object) }
        default:
          // A status instead of an event: the response of a proxy.
          if (type === undefined && kind === 'Status') return { type: 'error', status: statusOf(raw) }
          throw new TypeError(`an event of the unknown type "${String(type)}"`)
      }
    } catch (error) {
      return unreadable(line, error)
    }
  }

  #put(object: unknown): Put<T> {
    const { name, namespace, uid, resourceVersion } = metadataOf(object)
    if (!isKubernetesObject(object) || typeof name !== 'string' || name === '')
      throw new TypeError('it has no metadata.name')
    const key = keyOf(namespace, name)
    const taken = this.#stripped(object) as T
    if (resourceVersion === undefined || resourceVersion === '') return { type: 'put', key, object: taken }
    if (!isResourceVersion(resourceVersion)) throw new TypeError(invalidVersionMessage(resourceVersion))
    if (typeof uid !== 'string') return { type: 'put', key, object: taken, version: resourceVersion }
    return { type: 'put', key, object: taken, version: resourceVersion, uid }
  }

  #stripped(object: KubernetesObject): KubernetesObject {
    const { stripManagedFields, metadataOnly } = this.#options
    const whole = metadataOf(object)
    if (stripManagedFields && whole['managedFields'] !== undefined) {
      // `delete` would make the object slow for later reads.
      const { managedFields: _, ...metadata } = whole
      object.metadata = metadata
    }
    if (!metadataOnly) return object
    const { kind, apiVersion, metadata } = object
    return { kind, apiVersion, ...(metadata === undefined ? {} : { metadata }) }
  }

  #check(bytes: Buffer | string, isWhole: boolean): void {
    if (!isWhole) throw new RangeError(`it is larger than maxObjectBytes (${this.#options.maxObjectBytes})`)
    if (typeof bytes !== 'string' && !isUtf8(bytes)) throw new TypeError('it is not UTF-8')
  }
}

function isKubernetesObject(value: unknown): value is KubernetesObject {
  return typeof value === 'object' && value !== null
}

function metadataOf(object: unknown): Properties {
  return propertiesOf(propertiesOf(object)['metadata'])
}

function invalid(bytes: Buffer, error: unknown): Invalid {
  return invalidOf(scanMetadata(bytes, false), error)
}

/** Decodes a line of which only the metadata can be read. */
function unreadable<T>(bytes: Buffer | string, error: unknown): DecodedLine<T> {
  const scanned = scanMetadata(bytes, true)
  const { type } = scanned
  const version = isResourceVersion(scanned.resourceVersion) ? scanned.resourceVersion : undefined
  // The deletion itself is known without the object.
  if (type === 'DELETED' && scanned.name !== undefined) {
    return {
      type: 'delete',
      event: { type: 'delete', key: keyOf(scanned.namespace, scanned.name) },
      version,
      isChange: true,
    }
  }
  return { type: 'invalid', event: invalidOf(scanned, error), version, isChange: type !== 'ADDED' }
}

function invalidOf({ name, namespace, resourceVersion }: ScannedMetadata, error: unknown): Invalid {
  const version = isResourceVersion(resourceVersion) ? { version: resourceVersion } : {}
  return { type: 'invalid', ...(name === undefined ? {} : { key: keyOf(namespace, name) }), error, ...version }
}

/** `join` makes a flat string. That of a template has three parts, and needs twice the memory. */
function keyOf(namespace: unknown, name: string): string {
  return typeof namespace === 'string' && namespace !== '' ? [namespace, name].join('/') : name
}

/** A small object cannot nest too deep. `levels` and `besides` are the depth and the bytes around it. */
function assertDepth(bytes: Buffer | string, levels = 0, besides = 0): void {
  if (bytes.length - besides <= SMALL_BYTES) return
  assertJsonDepth(typeof bytes === 'string' ? bytes : bytes.toString('latin1'), MAX_JSON_DEPTH + levels)
}

/** Returns the number of borders; undefined if an item between two of them is large enough to nest too deep. */
function bordersBetweenSmall(text: string, between: string): number | undefined {
  let count = 0
  let begin = 0
  for (;;) {
    const next = text.indexOf(between, begin + 1)
    if ((next === -1 ? text.length : next) - begin > SMALL_BYTES) return undefined
    if (next === -1) return count
    begin = next
    count++
  }
}

/** Whether the object's text begins with `lead`, as far as its first key shows. */
function beginsWith(item: KubernetesObject, lead: string): boolean {
  for (const key in item) return `{"${key}"`.startsWith(lead)
  return false
}
