import { hash } from 'node:crypto'
import { visibleObject } from './object-json.js'

/**
 * Returns a hash of the content of an object, so that two programs can compare it. Unlike JSON it distinguishes bytes,
 * dates, bigints and numbers. Values that are hidden do not count.
 */
export function digestOf(object: unknown, showsSecrets: boolean): string {
  try {
    return hash('sha256', contentOf(visibleObject(object, showsSecrets), []), 'base64')
  } catch {
    return 'unreadable' // A getter throws, or the object is nested too deeply.
  }
}

function contentOf(value: unknown, above: readonly object[]): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? typeof value
  if (above.includes(value)) return 'circular'
  const within = [...above, value]
  const part = (each: unknown): string => contentOf(each, within)
  if (value instanceof Date) return `date ${value.getTime()}`
  if (ArrayBuffer.isView(value))
    return `bytes ${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}`
  if (value instanceof Map) return `map [${Array.from(value, (pair) => part(pair)).sort()}]`
  if (value instanceof Set) return `set [${Array.from(value, part).sort()}]`
  if (Array.isArray(value)) return `[${value.map(part)}]`
  const fields = Object.entries(value).filter(([, each]) => each !== undefined)
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${part(each)}`).sort()}}`
}
