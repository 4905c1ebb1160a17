import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TransactionReader } from '../../adapters/mysql/binlog/transaction-reader.js'
import { SourceError } from '../../src/contract/errors.js'
import { runs } from '../support/property.js'
import { recordedEvents, recordedTable, sealed } from '../support/recorded-binlog.js'

const damage = fc.record({
  events: fc.constantFrom(...Object.values(recordedEvents)),
  at: fc.nat(),
  cut: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -8, max: 200 })),
  bytes: fc.array(fc.tuple(fc.nat(), fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 0xff, 0xfe))), {
    minLength: 1,
    maxLength: 4,
  }),
})

type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never

/** Reads events of which one is damaged. Its checksum is right if `isSealed`. */
function read({ events, at, cut, bytes }: Damage, isSealed: boolean): void {
  const index = at % events.length
  const original = events[index] ?? Buffer.alloc(0)
  const event = Buffer.concat([original, Buffer.alloc(8)]).subarray(0, Math.max(0, original.length - cut))
  for (const [position, value] of bytes) if (event.length > 0) event[position % event.length] = value
  const damaged = isSealed && event.length >= 23 ? sealed(event) : event
  const reader = new TransactionReader()
  reader.watch(recordedTable)
  for (const each of events.with(index, damaged)) reader.read(Buffer.from(each))
}

test.each([
  ['a wrong checksum', false],
  ['a right checksum', true],
])('a damaged event with %s is read, or is a SourceError, and nothing else', (_, isSealed) => {
  fc.assert(
    fc.property(damage, (damaged) => {
      try {
        read(damaged, isSealed)
      } catch (error) {
        expect(error).toBeInstanceOf(SourceError)
        expect(error).toMatchObject({ code: expect.stringMatching(/^(PROTOCOL|EPOCH_CHANGED)$/) })
      }
    }),
    runs(5_000),
  )
})

test('each flipped bit and each truncation of an event is found', () => {
  for (const events of Object.values(recordedEvents))
    for (const [index, event] of events.entries()) {
      const changed = [...event.keys()].flatMap((at) => {
        const flipped = Buffer.from(event)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
        return [flipped, event.subarray(0, at)]
      })
      for (const each of changed) {
        const reader = new TransactionReader()
        for (const before of events.slice(0, index)) reader.read(before)
        expect(() => reader.read(each)).toThrow(SourceError)
      }
    }
})
