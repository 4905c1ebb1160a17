import { expect, test } from 'vitest'
import { HeldMessages } from '../../../../adapters/nats/messages/held-messages.js'
import type { StoredMessage } from '../../../../adapters/nats/messages/stored-message.js'

const SUBJECTS = 10

function message(seq: number): StoredMessage {
  return {
    consumer: 'c',
    subject: `$KV.relay-orders.k${seq % SUBJECTS}`,
    seq,
    delivery: seq,
    time: '0',
    isDelete: false,
    isInBatch: false,
    data: new Uint8Array(),
  }
}

function heldAfter(count: number): readonly number[] {
  const held = new HeldMessages()
  for (let seq = 1; seq <= count; seq++) held.add([message(seq)])
  return held.take().map(({ seq }) => seq)
}

test('[J15] messages that wait for a state of a bucket that is overwritten faster than it is read are bounded by the number of its keys', () => {
  const held = heldAfter(100_000)
  expect(held.length).toBeLessThanOrEqual(1_000)
  expect(held.slice(-SUBJECTS)).toEqual(Array.from({ length: SUBJECTS }, (_, at) => 99_991 + at))
  expect(held).toEqual(held.toSorted((a, b) => a - b))
})
