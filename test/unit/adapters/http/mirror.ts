import {
  type HttpSourceOptions,
  httpSource,
  type ServeMirrorOptions,
  serveMirror,
} from '../../../../adapters/http/index.js'
import type { Equal, IndexBuilder, Informer } from '../../../../src/index.js'
import { createInformer } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'

export interface Account {
  readonly tenant: string
  readonly balance: number
}

/** Calls a handler as `fetch` does, without a network. The body of a response ends with an error if the signal aborts. */
export function fetchFrom(handler: () => (request: Request) => Promise<Response>) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const response = await handler()(new Request(url, init))
    const { signal } = init
    const body = response.body?.pipeThrough(new TransformStream(), signal ? { signal } : {})
    return new Response(body, response)
  }
}

const indexes = (ix: IndexBuilder<Account>) => ({ tenant: ix.equal(({ tenant }) => tenant) })

/** A collection in memory, an informer that mirrors it and is served, and what makes followers of it. */
export function servedAccounts(
  entries: Iterable<readonly [string, Account]> = [],
  options: ServeMirrorOptions<{ tenant: Equal<Account, string> }> = {},
) {
  const source = memorySource<Account>({ entries, name: 'accounts', heartbeatMs: 200 })
  const informer = createInformer({ source, indexes }).start()
  const mirror = serveMirror(informer, { heartbeatMs: 200, ...options })
  const followers: Informer<Account>[] = []
  const follow = (own: Partial<HttpSourceOptions> = {}) => {
    const from = httpSource<Account>({
      url: 'http://mirror.test/accounts',
      heartbeatMs: 200,
      fetch: fetchFrom(() => mirror),
      ...own,
    })
    const follower = createInformer({ source: from, indexes })
    follower.on('error', () => {})
    followers.push(follower)
    return follower.start()
  }
  return {
    source,
    informer,
    mirror,
    follow,
    async [Symbol.asyncDispose]() {
      await Promise.all(followers.map((each) => each.stop()))
      await mirror.close()
      await informer.stop()
    },
  }
}
