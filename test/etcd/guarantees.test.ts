import { setTimeout as sleep } from 'node:timers/promises'
import { Etcd3 } from 'etcd3'
import { describe, expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { context } from '../support/source-calls.js'
import { ContractChecker } from './contract-checker.js'
import { followTo, historyOf, listed } from './follow.js'
import { Stage } from './stage.js'
import { useEtcd } from './support.js'

/** Several write transactions while the network breaks again and again, mostly in the middle of catching up. */
async function underCuts(etcd: EtcdServer) {
  await using stage = await Stage.open({ etcd })
  await stage.live()
  const random = new SeededRandom(7)
  for (let round = 0; round < 8; round++) {
    stage.proxy.reset()
    stage.proxy.refuse()
    for (let at = 0; at < 150; at++) {
      const names = [...new Set([0, 1, 2, 3].map(() => `k${random.below(100)}`))]
      await stage.put(...names.map((name, i) => [name, i === 3 ? undefined : at] as const))
    }
    stage.proxy.pass()
    await Promise.race([stage.proxy.cutAfter(300 + random.below(15_000), 'toClient'), sleep(600)])
  }
  stage.proxy.pass()
  const last = Number(await stage.put(['last', 1]))
  const isWhole = await stage
    .until('the end to be delivered', () => stage.checker.reached >= last)
    .then(
      () => true,
      () => false,
    )
  const history = await historyOf(stage.writer, stage.prefix, last)
  const { flaws } = stage.checker
  return { isWhole, flaws, missing: stage.checker.missing(history), relists: stage.relists, history }
}

describeEtcd('the guarantees of etcd for watchers', (server) => {
  const own = useEtcd(server)

  test.concurrent('hold for the events of the source: ordered, unique, reliable, atomic, resumable, bookmarkable', async () => {
    const { isWhole, flaws, missing, relists, history } = await underCuts(own.etcd)
    expect(history.length).toBeGreaterThan(2_000)
    expect({ isWhole, flaws, missing, relists }).toEqual({ isWhole: true, flaws: [], missing: [], relists: 0 })
  })

  describe('a catch-up that is interrupted', () => {
    for (const form of ['endpoints', 'client'] as const) {
      test.concurrent(`anywhere, also right after it was opened, is delivered completely (${form})`, async () => {
        await using stage = await Stage.open({ etcd: own.etcd, form, source: { heartbeatMs: 600, timeoutMs: 2_000 } })
        await stage.put(['k', 0])
        const from = await listed(stage.source)
        // More revisions than etcd puts into one message.
        const writing = Array.from({ length: 10 }, async (_, writer) => {
          for (let at = 1; at <= 150; at++) await stage.put([`k${writer}`, at])
        })
        await Promise.all(writing)
        const last = Number(await stage.put(['k', 2]))
        const history = await historyOf(stage.writer, stage.prefix, last)
        // The first thousand bytes one by one, so to say: there lie the answers before the first event.
        const cuts = [...Array.from({ length: 24 }, (_, at) => 150 + at * 50), 5_000, 20_000, 40_000, 60_000, 90_000]
        let broken = 0
        for (const bytes of cuts) {
          const checker = new ContractChecker(stage.source)
          checker.listedAt = Number(from.split('.')[3])
          const cut = stage.proxy.cutAfter(bytes, 'toClient')
          const { breaks } = await followTo(checker, from, last)
          stage.proxy.pass()
          cut.catch(() => {})
          if (breaks > 0) broken++
          expect([checker.flaws, checker.missing(history)], `cut after ${bytes}`).toEqual([[], []])
        }
        expect(broken).toBeGreaterThan(10)
      })
    }
  })

  test.concurrent('a write between two pages of a list is delivered by the watch that follows the list', async () => {
    await using stage = await Stage.open({ etcd: own.etcd, source: { pageSize: 10 } })
    await stage.fill(30)
    const pages = stage.source.list({ ...context(), pageSize: 10 })[Symbol.asyncIterator]()
    const seen: unknown[] = []
    let from = ''
    let last = 0
    for (let page = await pages.next(); page.done !== true; page = await pages.next()) {
      seen.push(...page.value.events)
      from = page.value.version ?? from
      if (last === 0) last = Number(await stage.put(['k1', 7], ['k29', undefined], ['new', 1]))
    }
    expect(seen).toHaveLength(30)
    expect(seen).not.toContainEqual(expect.objectContaining({ object: { n: 7 } }))
    const checker = new ContractChecker(stage.source)
    checker.listedAt = Number(from.split('.')[3])
    await followTo(checker, from, last)
    expect([checker.events, checker.missing(await historyOf(stage.writer, stage.prefix, last))]).toEqual([3, []])
  })

  test.concurrent('during a catch-up, progress notifications of servers that may be wrong are ignored', async () => {
    await using stage = await Stage.open({ etcd: own.etcd })
    await stage.put(['k', 0])
    const from = await listed(stage.source)
    const writing = Array.from({ length: 10 }, async (_, writer) => {
      for (let at = 0; at < 400; at++) await stage.put([`k${writer}`, at])
    })
    await Promise.all(writing)
    const last = Number(await stage.put(['k', 1]))
    const checker = new ContractChecker(stage.source)
    checker.listedAt = Number(from.split('.')[3])
    const asking = new AbortController()
    const ask = async (listener: () => void): Promise<void> => {
      while (!asking.signal.aborted) {
        listener()
        await sleep(5)
      }
    }
    await followTo(checker, from, last, (listener) => void ask(listener))
    asking.abort()
    const history = await historyOf(stage.writer, stage.prefix, last)
    expect([checker.flaws, checker.missing(history)]).toEqual([[], []])
  })

  test.concurrent('a catch-up larger than the 4 MiB limit of a client of etcd3 arrives in fragments, completely', async () => {
    await using stage = await Stage.open({ etcd: own.etcd })
    const client = new Etcd3({ hosts: `127.0.0.1:${stage.proxy.port}` })
    try {
      const source = etcdSource<string>({ client, prefix: stage.prefix, codec: 'string', heartbeatMs: 600 })
      const from = await listed(source)
      for (let at = 0; at < 60; at++) {
        const success = [0, 1, 2].map((i) => ({
          request_put: { key: Buffer.from(`${stage.prefix}k${at * 3 + i}`), value: Buffer.alloc(50_000, 97) },
        }))
        await stage.writer.kv.txn({ success })
      }
      const last = Number(await stage.put(['k', 1]))
      const history = await historyOf(stage.writer, stage.prefix, last)
      for (const bytes of [undefined, 1_000_000, 2_500_000, 6_000_000]) {
        const checker = new ContractChecker(source)
        checker.listedAt = Number(from.split('.')[3])
        if (bytes !== undefined) void stage.proxy.cutAfter(bytes, 'toClient')
        await followTo(checker, from, last)
        stage.proxy.pass()
        expect([checker.flaws, checker.missing(history)], `cut after ${bytes}`).toEqual([[], []])
      }
    } finally {
      client.close()
    }
  })

  test.concurrent('a message that is larger than the limit even in fragments leads to a list', async () => {
    await using etcd = await EtcdServer.start({ server, args: ['--max-request-bytes', '20000000'] })
    await using stage = await Stage.open({ etcd })
    const client = new Etcd3({ hosts: `127.0.0.1:${stage.proxy.port}` })
    try {
      const source = etcdSource<string>({ client, prefix: stage.prefix, codec: 'string' })
      const from = await listed(source)
      const value = Buffer.alloc(1_000_000, 97)
      for (let at = 0; at < 8; at++) await stage.writer.put(`${stage.prefix}${at}`).value(value)
      await expect(followTo(source, from, Infinity)).rejects.toMatchObject({ code: 'VERSION_EXPIRED' })
      // Its circuit breaker may be open for 5 s.
      await waitUntil('all to be read again', async () => (await listed(source).catch(() => '')) !== '')
    } finally {
      client.close()
    }
  })
})
