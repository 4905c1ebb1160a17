import { SourceError } from '../../src/contract/errors.js'
import { joinKey } from '../../src/util/join-key.js'
import { refused } from './source-errors.js'

/**
 * Returns the key of a row. `columns`: the values of its key columns, in the order of the key. Bytes are hexadecimal.
 * @throws TypeError for other values.
 */
export function keyOf(...columns: readonly (string | number | bigint | Uint8Array)[]): string {
  const texts = columns.map((value) => (value instanceof Uint8Array ? hexOf(value) : value))
  return keyWithoutBytes(texts, 'strings, numbers, bigints and bytes')
}

export function keyWithoutBytes(
  columns: readonly (string | number | bigint)[],
  allowed = 'strings, numbers and bigints',
): string {
  if (columns.length === 0) throw new TypeError('key: the values of the key columns are missing')
  return joinKey(
    columns.map((value) => {
      if (['string', 'number', 'bigint'].includes(typeof value)) return String(value)
      throw new TypeError(`key: ${allowed} are allowed, got ${value === null ? 'null' : typeof value}`)
    }),
  )
}

/** The mirrored columns of a table: all, or those of the key and the wanted ones. Throws if one does not exist. */
export function mirroredColumns(
  table: { readonly columns: readonly string[]; readonly key: readonly { readonly name: string }[] },
  wanted: readonly string[] | undefined,
  quoted: { readonly table: string; name(column: string): string },
): readonly string[] {
  const { columns } = table
  const key = table.key.map(({ name }) => name)
  const find = (given: string): string => {
    const found = columns.find((each) => each.toLowerCase() === given.toLowerCase())
    if (found !== undefined) return found
    throw refused(`${quoted.table} has no column ${quoted.name(given)}; it has ${columns.join(', ')}`)
  }
  return [...new Set(wanted === undefined ? [...columns, ...key] : [...key, ...wanted.map(find)])]
}

/** `column` is quoted. */
export function beyondNumbers(column: string, key: string): SourceError {
  const message = `the column ${column} has an integer beyond 2^53, which a number cannot hold; set integers: 'bigint'`
  return new SourceError(message, { code: 'DECODE', key })
}

/** Adds a property to a row. An assignment to "__proto__" would change the prototype. */
export function addTo(row: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') row[name] = value
  else Object.defineProperty(row, name, { value, writable: true, enumerable: true, configurable: true })
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
