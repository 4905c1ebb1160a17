import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sharedSource } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'
import { useEtcd } from '../etcd/support.js'
import { describeServer } from '../servers/index.js'
import { Program } from '../support/programs.js'
import { example, expectEnd, expectStates, listwatch, type Refusals, temporaryFolder, testRefusals } from './support.js'

describeServer('etcd 3.6', 'watch etcd://', useEtcd, (own) => {
  test('--json prints the existing objects, and then the changes', async () => {
    const client = own.etcd.client()
    await client.put('/jobs/1').value('{"state":"new"}')
    await client.put('/other').value('{}')
    const child = listwatch(['watch', `etcd://${own.etcd.endpoint}`, '--prefix', '/jobs/', '--json'])
    const write = async (): Promise<void> => {
      await client.put('/jobs/1').value('{"state":"done"}')
      await client.delete().key('/jobs/1')
    }
    await expectStates(child, write, '/jobs/1', [{ state: 'new' }, { state: 'done' }])
  })

  const refused: Refusals = [
    ['watch etcd://localhost', '--prefix is missing: etcd://host:2379 --prefix /jobs/'],
    ["watch etcd://localhost --prefix ''", 'must not be empty'],
    [
      'watch etcd://localhost --prefix a --table t',
      '--table is an option of Postgres, SQLite and MySQL; etcd has --prefix',
    ],
    ['watch etcd://127.0.0.1:1 --prefix a', 'no server listens there: check host and port'],
    ['watch etcd://no-such-host.invalid --prefix a', 'no such host: check its name'],
    ['watch etcd:// --prefix a', 'it should look like etcd://host:2379'],
  ]
  testRefusals(refused)

  test('API program 04: limits by tenant, with defaults, a bad value kept out', async () => {
    const client = own.etcd.client()
    await client.delete().prefix('/limits/')
    await client.put('/limits/acme').value('{"rps":2000}')
    await client.put('/limits/birch').value('{"rps":"many"}')
    const program = new Program('04-etcd-config', {
      setup: '04-limits.ts',
      env: { ETCD_PORT: String(own.etcd.port) },
      goesOn: true,
    })
    onTestFinished(() => program[Symbol.asyncDispose]())
    await program.until(() => program.lines.includes('2000'), 'its last line')
    expect(program.lines).toEqual(['/limits/acme 20', '2000'])
    await program.until(() => program.errors.includes('/limits/birch'), 'what it says of the bad value')
  })

  test('examples/config-cache.ts serves the limits of each tenant, also after they changed', async () => {
    const client = own.etcd.client()
    await client.delete().prefix('/limits/')
    await client.put('/limits/acme/api').value('{"rps":50}')
    await client.put('/limits/birch/api').value('{"rps":20}')
    const child = example('config-cache.ts', ['acme'], { ETCD_ENDPOINTS: own.etcd.endpoint })
    await child.until(() => child.lines.includes('acme: api 50'), 'the limits of acme')
    await client.put('/limits/acme/api').value('{"rps":70}')
    await client.put('/limits/acme/upload').value('{"rps":5}')
    await child.until(() => child.lines.includes('acme: api 70, upload 5'), 'the limits as they are now')
    await client.put('/limits/acme/api').value('{"rps":"many"}')
    await child.until(() => child.errors.includes('/limits/acme/api'), 'the bad value to be reported')
    await expectEnd(child, 'SIGINT')
  })

  test('examples/warm-start.ts resumes from its file after a restart, and lists again if the file is damaged', async () => {
    const client = own.etcd.client()
    await client.delete().prefix('/prices/')
    await client.put('/prices/apple').value('{"cents":120}')
    const path = join(temporaryFolder(), 'prices.cache')
    /** Runs until it is ready and has printed the line. Returns when the mirror was listed. */
    const run = async (size: number, line: string): Promise<string> => {
      const child = example('warm-start.ts', [path], { ETCD_ENDPOINTS: own.etcd.endpoint })
      const ready = `ready with ${size} prices, listed at `
      const said = (start: string): string | undefined => child.lines.find((each) => each.startsWith(start))
      await child.until(() => said(ready) !== undefined && said(line) !== undefined, line)
      await expectEnd(child, 'SIGTERM')
      return said(ready)?.slice(ready.length) ?? ''
    }
    const listedAt = await run(1, 'initial /prices/apple 120')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await client.put('/prices/apple').value('{"cents":130}')
    expect(await run(1, 'watch /prices/apple 130')).toBe(listedAt)
    expect(await run(1, 'initial /prices/apple 130')).toBe(listedAt)
    writeFileSync(path, 'damaged')
    expect(await run(1, 'initial /prices/apple 130')).not.toBe(listedAt)
  })

  test('examples/workers.ts follows the prices in each worker, and over its socket', async () => {
    const client = own.etcd.client()
    await client.delete().prefix('/prices/')
    await client.put('/prices/apple').value('{"cents":120}')
    const path = join(temporaryFolder(), 'prices.sock')
    const child = example('workers.ts', [path], { ETCD_ENDPOINTS: own.etcd.endpoint })
    const ready = ['worker 1 has 1 prices', 'worker 2 has 1 prices']
    await child.until(() => ready.every((line) => child.lines.includes(line)), 'both workers')
    await client.put('/prices/apple').value('{"cents":130}')
    const changed = ['worker 1: /prices/apple costs 130', 'worker 2: /prices/apple costs 130']
    await child.until(() => changed.every((line) => child.lines.includes(line)), 'the change in both workers')
    const follower = createInformer({ source: sharedSource<{ readonly cents: number }>({ path }) }).start()
    onTestFinished(() => follower.stop())
    await follower.synced({ timeoutMs: 30_000 })
    expect(follower.get('/prices/apple')).toEqual({ cents: 130 })
    await expectEnd(child, 'SIGTERM')
    expect(child.errors).toBe('')
  })
})
