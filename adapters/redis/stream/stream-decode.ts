import { isUtf8 } from 'node:buffer'
import type { ListEvent } from '../../../src/contract/source.js'
import { propertiesOf } from '../../shared/properties.js'
import { notPromised } from '../../shared/value-codec.js'
import type { RedisReply } from '../connection/client.js'
import type { StreamChange, StreamDecode } from './stream-change.js'
import type { StreamEntry } from './stream-history.js'

/** Appends the events of an entry. */
export function decodeEntry<T>(decode: StreamDecode<T>, { id, fields }: StreamEntry, events: ListEvent<T>[]): void {
  let changes: StreamChange<T> | readonly StreamChange<T>[] | undefined
  try {
    changes = notPromised(decode(mapOf(fields), id), 'decode')
  } catch (error) {
    events.push({ type: 'invalid', error })
    return
  }
  for (const change of isArray(changes) ? changes : [changes]) {
    if (change !== undefined) events.push(eventOf(change))
  }
}

/** `Array.isArray` for an array that is readonly. */
function isArray<V>(value: V | readonly V[]): value is readonly V[] {
  return Array.isArray(value)
}

function eventOf<T>(change: StreamChange<T>): ListEvent<T> {
  let named: string | undefined
  try {
    const { key } = propertiesOf(notPromised(change, 'decode'))
    if (typeof key !== 'string') throw new TypeError(`decode must return a string as key, got ${typeof key}`)
    named = key
    if ('error' in change) return { type: 'invalid', key, error: change.error }
    const object = notPromised(change.object, 'decode')
    return object === undefined ? { type: 'delete', key } : { type: 'put', key, object }
  } catch (error) {
    return { type: 'invalid', ...(named === undefined ? {} : { key: named }), error }
  }
}

/** A field that occurs twice has its last value, as in other clients of Redis. */
function mapOf(fields: readonly RedisReply[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) map.set(textIn(fields[at]), textIn(fields[at + 1]))
  return map
}

function textIn(bytes: RedisReply | undefined): string {
  if (!Buffer.isBuffer(bytes)) return ''
  const text = bytes.toString()
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new TypeError('a field of the entry is not UTF-8')
  return text
}
