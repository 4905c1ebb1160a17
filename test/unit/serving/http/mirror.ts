import { onTestFinished } from 'vitest'
import { serverSentEvents } from '../../../../serving/http/event-stream.js'
import { type HttpSourceOptions, httpSource, type ServeHttpOptions, serveHttp } from '../../../../serving/http/index.js'
import type { Equal, IndexBuilder, Informer, InformerOptions, Lifecycle } from '../../../../src/index.js'
import { createInformer } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'

export type Account = { readonly tenant: string; readonly balance: number }

/** Calls a handler as `fetch` does, without a network. The body of a response ends with an error if the signal aborts. */
export function fetchFrom(handler: () => (request: Request) => Promise<Response>) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const response = await handler()(new Request(url, init))
    const { signal } = init
    const body = response.body?.pipeThrough(new TransformStream(), signal ? { signal } : {})
    return new Response(body, response)
  }
}

export const get = (path: string, init?: RequestInit): Request =>
  new Request(`http://mirror.test/accounts${path}`, init)

export type ResponseBody = { readonly version: string; readonly error: string }

export async function bodyOf(response: Promise<Response>): Promise<ResponseBody> {
  return (await (await response).json()) as ResponseBody
}

export interface ReceivedList {
  readonly version: string
  readonly size: number
  readonly events: readonly { readonly type: string; readonly key: string }[]
}

/** Reads a list to its end. */
export async function listOf(response: Response | Promise<Response>): Promise<ReceivedList> {
  const { body } = await response
  let list: ReceivedList = { version: '', size: 0, events: [] }
  for await (const received of body === null ? [] : serverSentEvents(body)) {
    if (received === undefined) continue
    const { events = [], ...begin } = JSON.parse(received.data)
    list = received.type === 'begin' ? { ...list, ...begin } : { ...list, events: [...list.events, ...events] }
  }
  return list
}

/** An informer that is started and served, and what makes followers of it. */
export function served<T, I extends object>(given: InformerOptions<T, I, T>, options: ServeHttpOptions<I> = {}) {
  const informer = createInformer<T, I, T>(given)
  informer.on('error', () => {})
  const mirror = serveHttp(informer.start(), { heartbeatMs: 200, ...options })
  const { indexes, clock, random, freeze = true } = given
  const followers: Informer<T, I>[] = []
  const follow = (own: Partial<HttpSourceOptions> = {}) => {
    const from = httpSource<T>({
      url: 'http://mirror.test/accounts',
      heartbeatMs: 200,
      fetch: fetchFrom(() => mirror),
      ...own,
    })
    const shared = { ...(indexes && { indexes }), ...(clock && { clock }), ...(random && { random }) }
    const follower = createInformer<T, I, T>({ source: from, freeze, ...shared })
    follower.on('error', () => {})
    followers.push(follower)
    return follower.start()
  }
  /** A follower that has the objects. */
  const joined = async (own?: Partial<HttpSourceOptions>) => {
    const follower = follow(own)
    await follower.synced()
    return follower
  }
  return {
    informer,
    mirror,
    follow,
    joined,
    async [Symbol.asyncDispose]() {
      await Promise.all(followers.map((each) => each.stop()))
      await mirror.close()
      await informer.stop()
    },
  }
}

/** A collection in memory, an informer that mirrors it and is served, and what makes followers of it. */
export function servedAccounts(
  entries: Iterable<readonly [string, Account]> = [],
  options: ServeHttpOptions<{ tenant: Equal<Account, string> }> = {},
  given: Pick<InformerOptions<Account, object>, 'clock' | 'random'> = {},
) {
  const source = memorySource<Account>({ entries, name: 'accounts', heartbeatMs: 200 })
  const indexes = (ix: IndexBuilder<Account>) => ({ tenant: ix.equal(({ tenant }) => tenant) })
  return { source, ...served({ source, indexes, ...given }, options) }
}

/** Starts an informer, which the end of the test stops. */
export function running<L extends Lifecycle>(informer: L): L {
  onTestFinished(() => informer.stop())
  if ('on' in informer) (informer as unknown as Informer<unknown>).on('error', () => {})
  return informer.start()
}
