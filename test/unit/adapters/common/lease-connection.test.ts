import { expect, test } from 'vitest'
import { LeaseConnection } from '../../../../adapters/common/lease-connection.js'
import { ABORTED } from '../../../../src/contract/errors.js'

test('a request right after another one was aborted uses another connection', async () => {
  let opened = 0
  const closed: number[] = []
  const connection = new LeaseConnection(async () => {
    const nth = ++opened
    return { nth, close: () => closed.push(nth) }
  })
  const abort = new AbortController()
  const renewal = connection.run(abort.signal, () => new Promise(() => {}))
  const failed = expect(renewal).rejects.toBe(ABORTED)
  await Promise.resolve()
  abort.abort(ABORTED)
  const used = await connection.run(connection.signal, async ({ nth }) => nth)
  await failed
  expect([used, closed]).toEqual([2, [1]])
})
