import { joinKey } from '../../src/util/join-key.js'

/**
 * Returns the key of a row. `columns`: the values of its key columns, in the order of the key. Bytes are hexadecimal.
 * @throws TypeError for other values.
 */
export function keyOf(...columns: readonly (string | number | bigint | Uint8Array)[]): string {
  if (columns.length === 0) throw new TypeError('key: the values of the key columns are missing')
  return joinKey(
    columns.map((value) => {
      if (value instanceof Uint8Array) return hexOf(value)
      if (['string', 'number', 'bigint'].includes(typeof value)) return String(value)
      const type = value === null ? 'null' : typeof value
      throw new TypeError(`key: strings, numbers, bigints and bytes are allowed, got ${type}`)
    }),
  )
}

/** The part of a key for bytes. */
export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
