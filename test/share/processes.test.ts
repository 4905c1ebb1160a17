import { spawn } from 'node:child_process'
import { chmodSync, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sharedSource } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Child } from '../support/child.js'
import { root } from '../support/sources.js'
import { ask, report, startProcess } from './followers.js'
import { socketPath, stage } from './stage.js'

const ROUNDS = 6 * Number(process.env['LISTWATCH_RUNS'] ?? 1)

/** A process that shares objects whose numbers begin at `first`. */
async function main(path: string, count: number, first: number, env: NodeJS.ProcessEnv = {}): Promise<Child> {
  const args = ['--import', join(root, 'scripts/typescript.mjs'), join(root, 'test/share/main.ts')]
  const child = new Child(process.execPath, [...args, path, `${count}`, `${first}`], {
    env: { ...process.env, ...env },
  })
  onTestFinished(() => child[Symbol.asyncDispose]())
  await child.until(() => child.lines.includes('ready'), 'the socket')
  return child
}

function follow(path: string) {
  const source = sharedSource<{ readonly n: number }>({ path, heartbeatMs: 300 })
  const follower = createInformer({ source }).start()
  follower.on('error', () => {})
  onTestFinished(() => follower.stop())
  return follower
}

describe('processes of one host', () => {
  test('[T4] that are killed at any moment of a join harm neither the share nor other followers', async () => {
    const { share, memory, sum, informer } = await stage(20_000)
    const path = socketPath()
    await share.listen(path)
    const healthy = startProcess(path)
    await report(healthy)
    for (let round = 0; round < ROUNDS; round++) {
      const child = startProcess(path)
      if (round % 3 === 0) await report(child)
      else await sleep(200 + round * 25)
      memory.put(`${round}`, { n: 1_000_000 + round, text: 'x' })
      child.kill('SIGKILL')
    }
    await informer.fresh()
    await waitUntil('all changes', async () => (await ask(healthy)).sum === sum())
    expect((await report(startProcess(path))).sum).toBe(sum())
    expect((await ask(healthy)).relists).toBe(0)
  })

  test('[T7] list once when the process that shares was killed and is started again', async () => {
    const path = socketPath()
    const first = await main(path, 1_000, 0)
    const follower = follow(path)
    await follower.synced()
    first.kill('SIGKILL')
    await first.ended
    await waitUntil('the failure', () => follower.status.state !== 'live')
    expect([follower.size, existsSync(path)]).toEqual([1_000, true])
    await main(path, 2_000, 50)
    await waitUntil('the objects of the second process', () => follower.size === 2_000)
    expect([follower.get('0'), follower.status.relists]).toEqual([{ n: 50 }, 1])
  })

  test('see that the process that shares does not respond, and continue when it does', async () => {
    const path = socketPath()
    const child = await main(path, 10, 0)
    const follower = follow(path)
    await waitUntil('the watch', () => follower.status.state === 'live')
    child.kill('SIGSTOP')
    await waitUntil('the failure', () => follower.status.state === 'backing-off')
    child.kill('SIGCONT')
    await waitUntil('the recovery', () => follower.status.state === 'live')
    expect(follower.status.relists).toBe(0)
  })

  test('of a cluster follow the primary', async () => {
    const child = await main(socketPath(), 1_000, 0, { WORKERS: '2' })
    await child.until(() => child.lines.filter((line) => line.includes('"size":1000')).length === 2, 'both workers')
  })

  test('[T8] that share end when their informer stops, with followers and unused ports', async () => {
    const path = socketPath()
    const child = await main(path, 10, 0)
    const follower = follow(path)
    await waitUntil('the watch', () => follower.status.state === 'live')
    child.kill('SIGTERM')
    expect(await child.ended).toEqual({ code: 0, signal: null })
  })

  test.skipIf(process.getuid?.() !== 0)('[T6] of another user may not follow, and the error says so', async () => {
    const path = socketPath()
    chmodSync(dirname(path), 0o755)
    await main(path, 10, 0)
    const program = `
      const { connect } = require('node:net')
      connect(${JSON.stringify(path)}).on('error', ({ code }) => console.log(code)).on('connect', () => console.log('connected'))`
    const child = spawn(process.execPath, ['-e', program], { uid: 65_534, stdio: ['ignore', 'pipe', 'inherit'] })
    let printed = ''
    for await (const text of child.stdout.setEncoding('utf8')) printed += text
    expect(printed).toBe('EACCES\n')
  })
})
