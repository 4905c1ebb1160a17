import { setTimeout as sleep } from 'node:timers/promises'
import { Etcd3 } from 'etcd3'
import { expect, onTestFinished, test } from 'vitest'
import { type EtcdClusterOptions, type EtcdSource, etcdCluster, etcdSource } from '../../adapters/etcd/index.js'
import { type CollectionBatch, isCollection } from '../../src/contract/shared-history.js'
import { createInformer, groupInformers, type Informer, SourceError } from '../../src/index.js'
import { EtcdServer } from '../servers/etcd.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import {
  ACCOUNTS,
  type Account,
  AMOUNT,
  BANK_TIMEOUT_MS,
  COLLECTIONS,
  type Collection,
  judgeBank,
  type Transfer,
} from '../support/bank.js'
import { context } from '../support/source-calls.js'
import { listed } from './follow.js'
import { useEtcd } from './support.js'

const put = (key: string, value: string) => ({ request_put: { key: Buffer.from(key), value: Buffer.from(value) } })

/** The batches of a watch of these collections, each from its version. It ends with the test. */
function batchesOf(positions: readonly (readonly [EtcdSource<unknown>, string])[]): AsyncIterator<CollectionBatch> {
  const ending = new AbortController()
  const collections = positions.map(([source, position]) => {
    if (!isCollection(source)) throw new Error('it has no history')
    return { ...source, history: source.history, position, name: source.collection }
  })
  const [first] = collections
  if (first === undefined) throw new Error('there is a collection')
  const batches = first.history
    .watch({
      ...context(ending.signal),
      positions: new Map(collections.map(({ name, position }) => [name, position])),
      onProgressRequest: () => {},
    })
    [Symbol.asyncIterator]()
  onTestFinished(async () => {
    ending.abort()
    await batches.return?.()
  })
  return batches
}

async function next(batches: AsyncIterator<CollectionBatch>): Promise<CollectionBatch> {
  const { value, done } = await batches.next()
  if (done === true) throw new Error('the watch has ended')
  return value
}

const sizes = ({ parts }: CollectionBatch): readonly number[] => Array.from(parts.values(), ({ length }) => length)

describeEtcd('collections of etcd', (server) => {
  const at = useEtcd(server)
  let tests = 0

  /** Two collections under prefixes of this test, and a client that writes. */
  const open = (options: Partial<EtcdClusterOptions> = {}) => {
    const own = `${++tests}/`
    const names = [`/a-${own}`, `/z-${own}`] as const
    const { endpoint } = at.etcd
    const cluster = etcdCluster(options.client === undefined ? { endpoints: endpoint, ...options } : options)
    const [a, z] = names.map((prefix) => cluster.collection<string>({ prefix, codec: 'string' })) as [
      EtcdSource<string>,
      EtcdSource<string>,
    ]
    const client = at.etcd.client()
    const write = async (...keys: readonly string[]): Promise<string> =>
      (await client.kv.txn({ success: keys.map((key) => put(key, key)) })).header.revision
    return { cluster, names, a, z, client, write, foreign: `/m-${own}` }
  }

  const started = async <T>(...sources: readonly EtcdSource<T>[]): Promise<readonly Informer<T, object>[]> => {
    const informers = sources.map((source) => createInformer({ source }))
    const group = groupInformers(informers)
    onTestFinished(() => group.stop())
    await group.start().synced({ timeoutMs: 30_000 })
    return informers
  }

  test(
    '[E15] of a bank all readers, handlers and views see a constant sum, which two sources of one prefix do not',
    async () => {
      const etcd = await EtcdServer.start({ server })
      const proxy = await startFaultProxy({ targetPort: etcd.port })
      onTestFinished(async () => {
        await proxy[Symbol.asyncDispose]()
        await etcd[Symbol.asyncDispose]()
      })
      const keyOf = (collection: Collection, id: number) => `/${collection}/${id}`
      const value = (id: number, amount: number) => JSON.stringify({ id, amount })
      const admin = etcd.client()
      for (const collection of COLLECTIONS)
        for (let id = 1; id <= ACCOUNTS; id++) await admin.put(keyOf(collection, id)).value(value(id, AMOUNT))
      const shop = etcdCluster({ endpoints: `127.0.0.1:${proxy.port}`, holdMs: Infinity })
      const sources = new Map(
        COLLECTIONS.map((each) => [each, shop.collection<Account>({ prefix: `/${each}/` })] as const),
      )
      const writer = async () => {
        const client = etcd.client()
        return async ({ from, to, debited, credited }: Transfer) => {
          try {
            const changes = [[from, debited, -1] as const, [to, credited, 1] as const]
            const reads = await Promise.all(
              changes.map(([collection, id]) => client.kv.range({ key: Buffer.from(keyOf(collection, id)) })),
            )
            const entries = reads.flatMap(({ kvs }) => kvs)
            const { succeeded, header } = await client.kv.txn({
              compare: entries.map(({ key, mod_revision }) => ({ key, target: 'Mod', result: 'Equal', mod_revision })),
              success: changes.map(([collection, id, by], number) => {
                const { amount }: Account = JSON.parse(String(entries[number]?.value))
                return put(keyOf(collection, id), value(id, amount + by))
              }),
            })
            return succeeded ? header.revision : undefined
          } catch {
            return undefined // The server is down.
          }
        }
      }
      const compactWhileAway = async () => {
        proxy.reset()
        proxy.refuse()
        await sleep(200)
        try {
          const { header } = await admin.kv.range({ key: Buffer.from('/') })
          await admin.kv.compact({ revision: header.revision })
        } finally {
          proxy.pass()
        }
      }
      const restart = async () => {
        await etcd.kill()
        await etcd.start()
      }
      await judgeBank(
        {
          together: (collection) => sources.get(collection) as EtcdSource<Account>,
          apart: (collection) => etcdSource<Account>({ endpoints: etcd.endpoint, prefix: `/${collection}/` }),
          keyOf: (id) => keyOf('checking', id),
          writer,
          faults: [compactWhileAway, async () => proxy.reset(), restart],
          rows: async (collection) => {
            const all = await etcd.client().getAll().prefix(`/${collection}/`).json()
            return Object.values(all).sort((one, other) => (one as Account).id - (other as Account).id)
          },
        },
        onTestFinished,
      )
    },
    BANK_TIMEOUT_MS,
  )

  test.each([
    ['a compaction', {}],
    ['more than maxCatchup', { maxCatchup: 5 }],
  ])('[E15] %s expires the collections that are behind it, and no other', async (what, options) => {
    const { names, a, z, client, write, foreign } = open(options)
    const old = await listed(a)
    for (let n = 0; n < 9; n++) await write(`${names[0]}${n}`, foreign)
    const current = await listed(z)
    if (what === 'a compaction')
      await client.kv.compact({ revision: (await client.kv.range({ key: Buffer.from('/') })).header.revision })
    const batches = batchesOf([
      [a, old],
      [z, current],
    ])
    const { lost, version } = await next(batches)
    expect(Array.from(lost ?? [], ([name, error]) => [name, error instanceof SourceError && error.code])).toEqual([
      [names[0], 'VERSION_EXPIRED'],
    ])
    expect(z.hasReached(version, current)).toBe(true)
    await write(`${names[1]}k`)
    expect(sizes(await next(batches))).toEqual([1])
  })

  test('[E15] a restored backup in which one collection differs is another epoch for all', async () => {
    const { names, a, z, write, foreign } = open()
    await write(`${names[0]}k`, `${names[1]}k`)
    const backup = await at.etcd.backup(`collections-${tests}`)
    await write(`${names[1]}lost`)
    const informers = await started(a, z)
    const ends: string[] = []
    for (const each of informers) each.on('error', ({ code }) => void ends.push(code))
    const positions = [
      [a, await listed(a)],
      [z, await listed(z)],
    ] as const
    await at.etcd.restore(backup)
    await at.etcd.start()
    await at.etcd.client().put(foreign).value('x') // It has the revision of the write that is lost.
    await expect(next(batchesOf(positions))).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await waitUntil('the lists', async () => informers.every(({ status }) => status.relists === 1), 20_000)
    const success = names.map((name) => put(`${name}k2`, ''))
    const mark = (await at.etcd.client().kv.txn({ success })).header.revision
    for (const each of informers) await each.waitFor(mark, { timeoutMs: 20_000 })
    const keys = (name: string) => new Set([`${name}k`, `${name}k2`])
    expect(informers.map((each) => new Set(each.keys()))).toEqual(names.map(keys))
    expect(informers.map(({ status }) => status.relists)).toEqual([1, 1])
    expect(ends.filter((code) => code === 'EPOCH_CHANGED')).toHaveLength(2)
  })

  test('[E15] keys of two collections are in both, and an invalid object concerns one of them', async () => {
    const { cluster, names, client } = open()
    const prefix = `${names[0]}orders/`
    const whole = cluster.collection<unknown>({ prefix: names[0], codec: 'string' })
    const [all, orders] = await started(whole, cluster.collection<unknown>({ prefix }))
    if (all === undefined || orders === undefined) throw new Error('there are two')
    const seen: unknown[] = []
    all.subscribe({ add: ({ object, key }) => void seen.push([object, orders.get(key), orders.invalid.has(key)]) })
    await client.put(`${prefix}1`).value('{"n":1}')
    const { header } = await client.put(`${prefix}2`).value('{')
    await orders.waitFor(header.revision, { timeoutMs: 10_000 })
    await waitUntil('the handler', async () => seen.length === 2, 5_000)
    expect(seen).toEqual([
      ['{"n":1}', { n: 1 }, false],
      ['{', undefined, true],
    ])
  })

  test('collections that find a member dead at the same time use the next one', async () => {
    const { a, z, names, write } = open({ endpoints: ['127.0.0.1:1', at.etcd.endpoint] })
    await write(...names)
    const informers = await started(a, z)
    expect(informers.map(({ size, status }) => [size, status.lastError])).toEqual([
      [1, undefined],
      [1, undefined],
    ])
  })

  test('[E15] transactions over two prefixes are whole although messages come in fragments', async () => {
    const client = new Etcd3({ hosts: at.etcd.endpoint, grpcOptions: { 'grpc.max_receive_message_length': -1 } })
    onTestFinished(() => client.close())
    const { names, a, z } = open({ client })
    const positions = [
      [a, await listed(a)],
      [z, await listed(z)],
    ] as const
    const large = 'x'.repeat(600_000) // A fragment has three of them.
    for (let n = 0; n < 12; n++) await client.kv.txn({ success: names.map((name) => put(`${name}k`, large)) })
    const batches = batchesOf(positions)
    const seen: (readonly number[])[] = []
    for (let changes = 0; changes < 12; changes += seen.at(-1)?.[0] ?? 0) seen.push(sizes(await next(batches)))
    const changed = seen.filter(([first]) => first !== undefined)
    expect(changed.every(([first, second]) => first === second)).toBe(true)
    expect(changed.length).toBeGreaterThan(1)
  })

  test('[E15] changes between the prefixes cause few batches, and are marks of all collections', async () => {
    const { names, a, z, write, foreign } = open({ heartbeatMs: 2_000 })
    const batches = batchesOf([
      [a, await listed(a)],
      [z, await listed(z)],
    ])
    await next(batches)
    const counted = (async (): Promise<number> => {
      for (let count = 1; ; count++) if (sizes(await next(batches)).length === 1) return count
    })()
    for (let n = 0; n < 200; n++) await write(foreign)
    await write(`${names[1]}k`)
    expect(await counted).toBeLessThan(20)
    let isSilent = true
    const bookmark = next(batches).then(() => {
      isSilent = false
    })
    for (const end = Date.now() + 10_000; isSilent && Date.now() < end; ) await write(foreign)
    expect(isSilent).toBe(false)
    await bookmark
    const [first] = await started(a, z)
    await first?.waitFor(await write(foreign), { timeoutMs: 3_000 })
  })

  test('[E15] lists of two revisions are brought to one soon, also behind a proxy without progress', async () => {
    const proxy = await EtcdServer.startProxy(at.etcd)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    for (const endpoints of [at.etcd.endpoint, proxy.endpoint]) {
      const { names, a, z, write } = open({ endpoints, heartbeatMs: 60_000, timeoutMs: 90_000 })
      const first = await listed(a)
      await write(`${names[0]}k`, `${names[1]}k`)
      await write('/zz') // The watch does not see it.
      const second = await listed(z)
      const startedAt = Date.now()
      const batches = batchesOf([
        [a, first],
        [z, second],
      ])
      const { version, versions, parts } = await next(batches)
      expect(Date.now() - startedAt).toBeLessThan(10_000)
      expect([...parts.keys()]).toEqual([names[0]])
      for (const each of [version, ...(versions?.values() ?? [])]) expect(z.hasReached(each, second)).toBe(true)
      await write(...names)
      expect(sizes(await next(batches))).toEqual([1, 1])
    }
  })
})
