/** Returns an array with at least `length` elements: `array` itself, or a copy of at least twice its length. */
export function grownUint32(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  if (length <= array.length) return array
  const larger = new Uint32Array(Math.max(length, array.length * 2))
  larger.set(array)
  return larger
}
