import { expect, test } from 'vitest'
import { Latch } from '../../../src/util/latch.js'

test('a latch does not keep a waiter that has left', () => {
  const gate = new Latch()
  gate.enter({ resolve: () => expect.unreachable(), reject: () => {} })()
  gate.open()
})
