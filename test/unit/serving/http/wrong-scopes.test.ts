import { expect, test, vi } from 'vitest'
import { servedAccounts } from './mirror.js'

const accounts = [['1', { tenant: 'acme', balance: 100 }]] as const

/** A Response of a library, which is not one of this runtime. Its properties are private, as those of a Response. */
class OtherResponse {
  readonly #status = 403
  get status(): number {
    return this.#status
  }
}

test.each([
  ['the values without `where`', { tenant: 'birch' }, 'unknown option "tenant"'],
  ['a misspelt `where`', { were: { tenant: 'birch' } }, 'unknown option "were"'],
  ['an empty text as `where`', { where: '' }, 'must be a plain object'],
  ['a number as `where`', { where: 7 }, 'must be a plain object'],
  ['a Map as `where`', { where: new Map([['tenant', 'birch']]) }, 'must be a plain object'],
  ['an undefined `where`', { where: undefined }, 'must be a plain object'],
  ['an array', ['birch'], 'must return a plain object'],
  ['a Response of another library', new OtherResponse(), 'must return a plain object'],
])('[V15] a scope that is %s serves no objects, and the server reports why', async (_what, scope, why) => {
  using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  await using served = servedAccounts(accounts, { scope: () => scope as {} })
  expect((await served.mirror(new Request('http://mirror.test/list'))).status).toBe(500)
  expect(warned.mock.calls.map(([message]) => message)).toEqual([expect.stringContaining(why)])
})
