import {
  type ServeSharedOptions,
  type SharedSourceOptions,
  serveShared,
  sharedSource,
} from '../../../../serving/share/index.js'
import { createInformer, type IndexBuilder, type Informer } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'

export type Account = { readonly tenant: string; readonly balance: number }

const indexes = (ix: IndexBuilder<Account>) => ({ tenant: ix.equal(({ tenant }) => tenant) })

/** Objects of two tenants. */
export function accounts(count: number): [string, Account][] {
  return Array.from({ length: count }, (_, i) => [`${i}`, { tenant: i % 2 === 0 ? 'acme' : 'umbra', balance: i }])
}

/** A collection in memory, an informer that mirrors it and is shared, and what makes followers of it. */
export function sharedAccounts(entries: Iterable<readonly [string, Account]> = [], options: ServeSharedOptions = {}) {
  const source = memorySource<Account>({ entries, name: 'accounts', heartbeatMs: 200 })
  const informer = createInformer({ source, indexes })
  const share = serveShared(informer, { heartbeatMs: 200, ...options })
  const followers: Informer<Account>[] = []
  const follow = (own: SharedSourceOptions) => {
    const follower = createInformer({ source: sharedSource<Account>({ heartbeatMs: 200, ...own }), indexes })
    follower.on('error', () => {})
    followers.push(follower)
    return follower.start()
  }
  return {
    source,
    informer: informer.start(),
    share,
    follow,
    async [Symbol.asyncDispose]() {
      await Promise.all(followers.map((each) => each.stop()))
      await share.close()
      await informer.stop()
    },
  }
}
