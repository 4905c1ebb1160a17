import { expect, onTestFinished, test } from 'vitest'
import { RedisWriteError, redisDatabase } from '../../adapters/redis/index.js'
import { type CollectionBatch, isCollection } from '../../src/contract/shared-history.js'
import { createInformer, groupInformers, type ListerWatcher } from '../../src/index.js'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'
import {
  ACCOUNTS,
  type Account,
  AMOUNT,
  BANK_TIMEOUT_MS,
  COLLECTIONS,
  judgeBank,
  type Transfer,
} from '../support/bank.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { useRedis } from './support.js'

/** The batches of two collections after these versions. */
function watched(sources: readonly ListerWatcher<unknown>[], versions: readonly string[]) {
  const positions = new Map(
    sources.map((source, at) => [isCollection(source) ? source.collection : '', versions[at] ?? '']),
  )
  const [first] = sources
  if (first === undefined || !isCollection(first)) throw new Error('a collection has a history')
  return first.history.watch({ ...context(), positions, onProgressRequest: () => {} })[Symbol.asyncIterator]()
}

describeRedis('a database of Redis', (server) => {
  const own = useRedis(server)
  let names = 0
  const database = (options: object = {}) => {
    const name = `database-${++names}`
    const client = userClient('ioredis 6', own.redis.port)
    const again = () => redisDatabase({ client, database: name, heartbeatMs: 200, ...options })
    const key = (part: string): string => `{${name}}:${part}`
    return { shop: again(), again, key }
  }

  test(
    '[Q12] of a bank all readers, handlers, views and followers see a constant sum, which two databases of one collection do not',
    async ({ onTestFinished }) => {
      await using redis = await RedisServer.start({ server, isDurable: true })
      const client = userClient('ioredis 6', redis.port)
      const open = () => redisDatabase({ client, database: 'bank', heartbeatMs: 500, retention: 100, holdMs: Infinity })
      const [bank, decided] = [open(), open()]
      const sources = new Map(COLLECTIONS.map((name) => [name, bank.collection<Account>(name)]))
      const together = (name: string) => sources.get(name as 'savings') ?? bank.collection<Account>(name)
      await bank.commit((tx) => {
        for (const source of sources.values())
          for (let id = 1; id <= ACCOUNTS; id++) tx.put(source, String(id), { id, amount: AMOUNT })
      })
      // Writers decide by mirrors of their own. `ifVersion` refuses what another one has changed since.
      const mirrors = new Map(
        COLLECTIONS.map((name) => [name, createInformer({ source: decided.collection<Account>(name) })]),
      )
      const group = groupInformers([...mirrors.values()])
      onTestFinished(() => group.stop())
      await group.start().synced({ timeoutMs: 60_000 })
      const writer = async () => async (transfer: Transfer) => {
        const [from, to] = [mirrors.get(transfer.from), mirrors.get(transfer.to)]
        for (;;) {
          try {
            const [debited, credited] = [from?.get(String(transfer.debited)), to?.get(String(transfer.credited))]
            if (debited === undefined || credited === undefined) throw new Error('an account is missing')
            return await bank.commit(
              (tx) => {
                tx.put(together(transfer.from), String(debited.id), { ...debited, amount: debited.amount - 1 })
                tx.put(together(transfer.to), String(credited.id), { ...credited, amount: credited.amount + 1 })
              },
              { ifVersion: from?.version },
            )
          } catch (error) {
            if (!(error instanceof RedisWriteError) || error.version === undefined) return undefined
            await from?.waitFor(error.version, { timeoutMs: 1_000 }).catch(() => {})
          }
        }
      }
      const admin = redis.admin
      const [cut, trim, pause] = [
        () => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
        () => admin.xtrim('{bank}:log', 'MAXLEN', 0),
        async () => {},
      ]
      const faults = [
        cut,
        pause, // A mirror that fails often waits longer and longer.
        () => Promise.all([cut(), trim()]),
        ...[pause, pause],
        async () => {
          await redis.kill()
          await redis.start()
        },
        ...[pause, pause, pause],
        async () => {
          await admin.del('{bank}:meta')
          await bank.commit(() => {})
        },
        ...Array.from({ length: 8 }, () => pause),
      ]
      await judgeBank(
        {
          together,
          apart: (name) => open().collection<Account>(name),
          writer,
          faults,
          rows: async (name) => {
            const rows = (await admin.hvals(`{bank}:h:${name}`)).map((text): Account => JSON.parse(text))
            return rows.sort((a, b) => a.id - b.id)
          },
        },
        onTestFinished,
      )
    },
    BANK_TIMEOUT_MS,
  )

  test('[Q12] a list of a branch that a failover has lost is EPOCH_CHANGED, also if the history has passed it', async () => {
    const { shop, key } = database()
    const sources = [shop.collection<number>('a'), shop.collection<number>('b')] as const
    const before = await shop.commit((tx) => sources.forEach((source) => void tx.put(source, 'x', 1)))
    const keys = ['log', 'meta', 'h:a', 'h:b'].map(key)
    const saved = await Promise.all(keys.map((each) => own.redis.admin.dumpBuffer(each)))
    for (let n = 0; n < 3; n++) await shop.commit((tx) => tx.put(sources[1], 'lost', n))
    const { version } = await listed(sources[1])
    for (const [at, each] of keys.entries()) await own.redis.admin.restore(each, 0, saved[at] ?? '', 'REPLACE')
    // The second batch of a watch has several entries, so that it passes the version of the list.
    for (let n = 0; n < 8; n++) await shop.commit((tx) => tx.put(sources[0], 'x', n))
    const batches = watched(sources, [before, version])
    const read = async () => {
      for (;;) if ((await batches.next()).value?.parts.size > 0) return
    }
    await expect(read()).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await batches.return?.()
  })

  test('[Q12] a hash with a foreign field concerns its collection only: it fails, and the others continue', async () => {
    const { shop, key } = database()
    const names = ['a', 'b', 'c'] as const
    const sources = names.map((name) => shop.collection<number>(name))
    const [first, second] = sources
    if (first === undefined || second === undefined) throw new Error('there are three')
    await shop.commit((tx) => sources.forEach((source) => void tx.put(source, 'x', 1)))
    const versions = await Promise.all(sources.map(async (source) => (await listed(source)).version))
    const batches = watched(sources, versions)
    await own.redis.admin.hset(key('h:b'), 'foreign', '1')
    const lost: unknown[] = []
    const until = async (isSo: (batch: CollectionBatch) => boolean): Promise<void> => {
      for (;;) {
        const { value } = await batches.next()
        lost.push(...(value?.lost?.keys() ?? []))
        if (isSo(value)) return
      }
    }
    await until(({ lost: now }) => now !== undefined)
    await shop.commit((tx) => tx.put(first, 'y', 2))
    await until(({ parts }) => parts.has('a'))
    expect(lost).toEqual(['b'])
    await batches.return?.()
    await expect(listed(second)).rejects.toMatchObject({ code: 'PROTOCOL' })
    await listed(first)
  })

  test('[Q6] an informer whose hash has a foreign field fails and leaves, and the others continue', async () => {
    const { shop, key } = database()
    const [a, b] = [shop.collection<number>('a'), shop.collection<number>('b')]
    await shop.commit((tx) => [a, b].forEach((source) => void tx.put(source, 'x', 1)))
    const [first, second] = [createInformer({ source: a }), createInformer({ source: b })]
    await using group = groupInformers([first, second])
    await group.start().synced({ timeoutMs: 60_000 })
    await own.redis.admin.hset(key('h:b'), 'foreign', '1')
    await waitUntil('the informer to fail', () => second.status.state === 'failed', 60_000)
    const mark = await shop.commit((tx) => [a, b].forEach((source) => void tx.put(source, 'x', 2)))
    await first.waitFor(mark, { timeoutMs: 10_000 })
    expect([first.get('x'), second.get('x'), first.status.relists]).toEqual([2, 1, 0])
  })

  test('each collection has its own codec and keys, in lists and in watches', async () => {
    const { shop, again } = database()
    const open = (of: typeof shop) => ({
      json: of.collection<number>('json'),
      bytes: of.collection<Uint8Array>('bytes', { codec: 'bytes', keys: 'bytes' }),
      own: of.collection<string>('own', {
        codec: { encode: (text, key) => `${key}=${text}`, decode: (value, key) => `${key}:${Buffer.from(value)}` },
      }),
    })
    const other = again()
    const [written, read] = [open(shop), open(other)]
    await shop.commit(() => {})
    const json = createInformer({ source: read.json })
    const bytes = createInformer({ source: read.bytes })
    const text = createInformer({ source: read.own })
    await using group = groupInformers([json, bytes, text])
    await group.start().synced()
    const mark = await shop.commit((tx) => {
      tx.put(written.json, 'a/b', 1)
      tx.put(written.bytes, '\xff', Buffer.from([0xff]))
      tx.put(written.own, '', 'text')
    })
    await json.waitFor(mark, { timeoutMs: 60_000 })
    expect([json.get('a/b'), bytes.get('\xff'), text.get('')]).toEqual([1, new Uint8Array([0xff]), ':=text'])
    const lists = await Promise.all([read.json, read.bytes, read.own].map((source) => listed<unknown>(source)))
    expect(lists.flatMap(({ objects }) => [...objects])).toEqual([
      ['a/b', 1],
      ['\xff', new Uint8Array([0xff])],
      ['', ':=text'],
    ])
  })

  test('fields that are in the hashes before the first commit are adopted, of all collections', async () => {
    const { shop, key } = database()
    const sources = [shop.collection<number>('a'), shop.collection<number>('b')] as const
    await own.redis.admin.hset(key('h:a'), 'x', '1')
    await own.redis.admin.hset(key('h:b'), 'y', '2')
    await expect(listed(sources[1])).rejects.toThrow(`commit(() => {}) of a redisDatabase with all collections`)
    const version = await shop.commit((tx) => tx.delete(sources[0], 'x'))
    expect((await listed(sources[0])).objects).toEqual(new Map())
    expect(await listed(sources[1])).toMatchObject({ objects: new Map([['y', 2]]), version })
  })

  test('a commit with the version of another collection is a conflict after any commit', async () => {
    const { shop } = database()
    const [a, b] = [shop.collection<number>('a'), shop.collection<number>('b')]
    const before = await shop.commit((tx) => tx.put(a, 'x', 1))
    const version = await shop.commit((tx) => tx.put(b, 'x', 1), { ifVersion: before })
    const late = shop.commit((tx) => tx.put(a, 'x', 2), { ifVersion: before })
    await expect(late).rejects.toMatchObject({ code: 'CONFLICT', version })
    expect(a.hasReached(await b.head(context()), version)).toBe(true)
  })

  test('that was never written is one warning of its mirror, after a silent time', async () => {
    const { shop } = database()
    const warnings: string[] = []
    const logger = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} }
    const informers = ['orders', 'limits'].map((name) => createInformer({ source: shop.collection(name), logger }))
    const group = groupInformers(informers)
    onTestFinished(() => group.stop())
    await group.start().synced()
    const absent = expect.stringMatching(/^redis:database-\d+:orders: nothing has written to "database-\d+" yet$/)
    await expect.poll(() => warnings, { timeout: 20_000 }).toEqual([absent])
  })
})
