import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ExactSum } from '../../src/derive/exact-sum.js'
import { runs } from '../support/property.js'

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -100_000, max: 100_000 }).map((cents) => cents / 100),
  fc.maxSafeInteger(),
  fc.constantFrom(1e308, -1e308, 1e16, 2 ** 53, 5e-324, 2 ** -1022, 2 ** 960, 0.5, -0),
)

/** The number as a multiple of 2 ** -1100. */
function exact(value: number): bigint {
  let [size, shift] = [value, 1_100n]
  for (; !Number.isInteger(size); size *= 2) shift--
  return BigInt(size) << shift
}

/** The distance of a sum from a number; that of Infinity is the distance of the number that would be the next one. */
function distance(sum: bigint, value: number): bigint {
  const size = Number.isFinite(value) ? exact(value) : exact(Math.sign(value) * 2 ** 1023) * 2n
  return size < sum ? sum - size : size - sum
}

function neighbours(value: number): readonly number[] {
  const bytes = new DataView(new ArrayBuffer(8))
  return [-1n, 1n].map((step) => {
    bytes.setFloat64(0, value === 0 ? Number(step) * 5e-324 : value)
    if (value !== 0) bytes.setBigInt64(0, bytes.getBigInt64(0) + step)
    return bytes.getFloat64(0)
  })
}

test('[X24] a sum is the number nearest to the exact sum, whatever was added and removed, in any order', () => {
  const few = fc.array(numbers, { maxLength: 12 })
  fc.assert(
    fc.property(few, few, fc.infiniteStream(fc.nat()), (kept, removed, order) => {
      const sum = new ExactSum()
      for (const each of [...removed, ...kept]) sum.add(each)
      for (const each of removed) sum.remove(each)
      const { value } = sum
      const expected = kept.reduce((all, each) => all + exact(each), 0n)
      for (const other of neighbours(value))
        if (!Number.isNaN(other)) expect(distance(expected, value) <= distance(expected, other)).toBe(true)
      const again = new ExactSum()
      const shuffled = kept.map((each) => [order.next().value, each] as const).sort(([a], [b]) => a - b)
      for (const [, each] of shuffled) again.add(each)
      expect(again.value).toBe(value)
    }),
    runs(2_000),
  )
})

test('[X24] a number that is too small for a product decides which way a half is rounded', () => {
  const sum = new ExactSum()
  for (const each of [0.5, -4_574_469_161_510_602, 5e-324]) sum.add(each)
  expect(sum.value).toBe(-4_574_469_161_510_601)
})
