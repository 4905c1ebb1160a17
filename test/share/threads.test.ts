import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { ask, report, startWorker } from './followers.js'
import { stage } from './stage.js'

const ROUNDS = 12 * Number(process.env['LISTWATCH_RUNS'] ?? 1)

describe('worker threads', () => {
  test('[T1] have one mirror together: eight followers, one watch of the source, one pack, no list', async () => {
    const { share, memory, sum, informer, watches, snapshots, packs } = await stage(20_000)
    const workers = Array.from({ length: 8 }, () => startWorker(share.port()))
    for (const { size, sum: total } of await Promise.all(workers.map(report)))
      expect([size, total]).toEqual([20_000, sum()])
    memory.transaction((tx) => {
      for (let i = 0; i < 5_000; i++) tx.put(`${i}`, { n: -i, text: 'later' })
      tx.delete('19999')
    })
    await informer.fresh()
    for (const worker of workers) await waitUntil('the transaction', async () => (await ask(worker)).sum === sum())
    expect([watches(), packs(), snapshots()]).toEqual([1, 1, 0])
  })

  test('load no HTTP client and no HTTP server, which would take memory in each thread', async () => {
    const { share, memory, sum } = await stage(100)
    const worker = startWorker(share.port())
    await report(worker)
    memory.put('0', { n: 7, text: 'x' })
    await waitUntil('the change', async () => (await ask(worker)).sum === sum())
    const { modules } = await ask(worker)
    expect(modules).toContain('worker_threads')
    const heavy = ['internal/deps/undici/undici', '_http_client', '_http_server', 'http', 'crypto']
    expect(modules.filter((each) => heavy.includes(each))).toEqual([])
  })

  test('[T4] that are terminated at any moment of a join harm neither the share nor other workers', async () => {
    const { share, memory, sum, informer } = await stage(20_000)
    const healthy = startWorker(share.port())
    await report(healthy)
    for (let round = 0; round < ROUNDS; round++) {
      const worker = startWorker(share.port())
      if (round % 3 === 0) await report(worker)
      else await sleep(150 + round * 15)
      memory.put(`${round}`, { n: 1_000_000 + round, text: 'x' })
      await worker.terminate()
    }
    await informer.fresh()
    await waitUntil('all changes', async () => (await ask(healthy)).sum === sum())
    const late = startWorker(share.port())
    expect((await report(late)).sum).toBe(sum())
    expect((await ask(healthy)).relists).toBe(0)
  })

  test('that end by themselves leave nothing behind', async () => {
    const { share, memory, sum } = await stage(100)
    const port = share.port()
    const worker = startWorker(port)
    await report(worker)
    worker.postMessage({ stop: true })
    await once(worker, 'exit')
    memory.put('0', { n: 7, text: 'x' })
    expect((await report(startWorker(share.port()))).sum).toBe(sum())
  })

  test('[T3] with a blocked event loop delay no other worker, and continue without a list', async () => {
    const { share, memory, sum, informer } = await stage(1_000)
    const [slow, quick] = [startWorker(share.port()), startWorker(share.port())]
    await Promise.all([report(slow), report(quick)])
    const unblocked = ask(slow, { blockMs: 3_000 })
    const began = performance.now()
    let isBlocked = true
    void unblocked.then(() => (isBlocked = false))
    for (let i = 0; i < 3_000; i++) {
      memory.put(`${i % 1_000}`, { n: i, text: 'y'.repeat(500) })
      if (i % 100 === 0) await sleep(1)
    }
    await informer.fresh()
    await waitUntil('all changes', async () => (await ask(quick)).sum === sum())
    expect(isBlocked, `after ${performance.now() - began} ms`).toBe(true)
    await unblocked
    await waitUntil('all changes', async () => (await ask(slow)).sum === sum())
    expect((await ask(slow)).relists).toBe(0)
  })

  test('whose share is closed fail, and keep their objects', async () => {
    const { share } = await stage(100)
    const worker = startWorker(share.port())
    await report(worker)
    await share.close()
    await waitUntil('the state', async () => (await ask(worker)).state === 'failed')
    expect((await ask(worker)).size).toBe(100)
  })
})
