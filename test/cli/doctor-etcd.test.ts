import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../tools/postgres/free-port.js'
import { ScriptedEtcd } from '../etcd/scripted-etcd.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { findings, namesOf } from './doctor.js'
import { listwatch, refusalOf, SECRET, temporaryFolder } from './support.js'

const JOBS = ['--prefix', '/jobs/']

function urlOf(...members: readonly EtcdServer[]): string {
  return `etcd://${members.map(({ endpoint }) => endpoint).join(',')}`
}

/** Calls a method through etcd's JSON gateway. */
async function call(etcd: EtcdServer, method: string, request: object): Promise<unknown> {
  const response = await fetch(`${etcd.url}/v3/${method}`, { method: 'POST', body: JSON.stringify(request) })
  return await response.json()
}

async function putMany(etcd: EtcdServer, count: number, value: string): Promise<void> {
  const client = etcd.client()
  for (let done = 0; done < count; done += 100)
    await Promise.all(Array.from({ length: 100 }, (_, at) => client.put(`/jobs/${at}`).value(value)))
}

describeServer('etcd 3.6', 'doctor etcd://', (server) => {
  async function started(...args: readonly string[]): Promise<EtcdServer> {
    const etcd = await EtcdServer.start({ server, args })
    onTestFinished(() => etcd[Symbol.asyncDispose]())
    return etcd
  }

  test('finds nothing on a healthy server but values that cannot be decoded', async () => {
    const etcd = await started()
    expect(await namesOf([urlOf(etcd), ...JOBS])).toEqual([])
    await etcd.client().put('/jobs/1').value('no JSON')
    expect((await findings([urlOf(etcd), ...JOBS])).get('undecodable')).toMatchObject({
      severity: 'warning',
      problem: expect.stringMatching(/lacks 1 of the objects.*\/jobs\/1/),
    })
    expect(await namesOf([urlOf(etcd), ...JOBS, '--codec', 'string'])).toEqual([])
  })

  test('no connection: exit code 2', async () => {
    const line = await refusalOf(listwatch(['doctor', `etcd://u:${SECRET}@127.0.0.1:${await freePort()}`, ...JOBS]))
    expect(line).toMatch(/^cannot connect to etcd:\/\/u:\*\*\*@127\.0\.0\.1:\d+: .*ECONNREFUSED/)
    expect(await refusalOf(listwatch(['doctor', 'etcd://127.0.0.1:1']))).toContain('--prefix is missing')
  })

  test('[E13] kine: exit code 2', async () => {
    await using kine = await ScriptedEtcd.start()
    kine.isKine = true
    expect(await refusalOf(listwatch(['doctor', `etcd://${kine.endpoint}`, ...JOBS]))).toMatch(/not etcd but kine/)
  })

  test('endpoints and different-clusters', async () => {
    const [one, other] = [await started(), await started()]
    expect(await namesOf([`${urlOf(one)},127.0.0.1:${await freePort()}`, ...JOBS])).toEqual(['endpoints'])
    await other.wipe('another cluster')
    await other.start()
    expect(await namesOf([urlOf(one, other), ...JOBS])).toEqual(['different-clusters'])
  })

  test('rights: a user without a role for these keys', async () => {
    const etcd = await started()
    const client = etcd.client()
    await client.user('root').create('root')
    await client.user('root').addRole('root')
    const role = client.role('reads')
    await role.create()
    await role.grant({ permission: 'Read', range: client.range({ prefix: '/jobs/' }) })
    await client.user('reader').create('secret')
    await client.user('reader').addRole('reads')
    await client.auth.authEnable()
    const url = urlOf(etcd).replace('//', '//reader:secret@')
    expect((await findings([url, ...JOBS])).has('rights')).toBe(false)
    expect((await findings([url, '--prefix', '/other/'])).get('rights')?.remedy).toContain('read /other/')
    expect((await findings([urlOf(etcd), ...JOBS])).has('rights')).toBe(true)
    const wrong = urlOf(etcd).replace('//', `//reader:${SECRET}@`)
    expect(await refusalOf(listwatch(['doctor', wrong, ...JOBS]))).toContain('check user and password in the URL')
  })

  test('token-lifetime: of JSON web tokens', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    const [pub, priv] = [join(temporaryFolder(), 'public.pem'), join(temporaryFolder(), 'private.pem')]
    writeFileSync(pub, publicKey)
    writeFileSync(priv, privateKey)
    const names = async (ttl: string): Promise<readonly string[]> => {
      const etcd = await started('--auth-token', `jwt,pub-key=${pub},priv-key=${priv},sign-method=RS256,ttl=${ttl}`)
      const client = etcd.client()
      await client.user('root').create('root')
      await client.user('root').addRole('root')
      await client.auth.authEnable()
      return await namesOf([urlOf(etcd).replace('//', '//root:root@'), ...JOBS])
    }
    expect(await names('10m')).toEqual([])
    expect(await names('20s')).toEqual(['token-lifetime'])
  })

  test('unstarted-member, and leader when the quorum is lost', async () => {
    const etcd = await started()
    await call(etcd, 'cluster/member/add', { peerURLs: ['http://127.0.0.1:1'], isLearner: true })
    expect(await namesOf([urlOf(etcd), ...JOBS])).toEqual(['unstarted-member'])
    const alone = await started()
    await call(alone, 'cluster/member/add', { peerURLs: ['http://127.0.0.1:1'] })
    await waitUntil('the leader to step down', async () => (await namesOf([urlOf(alone), ...JOBS])).includes('leader'))
  })

  test('learner', async () => {
    const etcd = await started()
    const peerPort = await freePort()
    const learner = await EtcdServer.create({
      server,
      args: ['--initial-cluster-state', 'existing'],
      member: {
        name: 'second',
        cluster: `only=http://127.0.0.1:${etcd.peerPort},second=http://127.0.0.1:${peerPort}`,
        peerPort,
        advertisedPeerPort: peerPort,
      },
    })
    onTestFinished(() => learner[Symbol.asyncDispose]())
    await call(etcd, 'cluster/member/add', { peerURLs: [`http://127.0.0.1:${peerPort}`], isLearner: true })
    learner.start().catch(() => {}) // It never answers the read that means it is ready.
    const isUp = (): Promise<boolean> =>
      call(learner, 'maintenance/status', {}).then(
        (status) => Object(status).isLearner === true,
        () => false,
      )
    await waitUntil('the learner', isUp)
    expect(await namesOf([urlOf(etcd, learner), ...JOBS])).toEqual(['learner'])
  })

  test('quota, then no-space', async () => {
    const etcd = await started('--quota-backend-bytes', String(8 * 1024 ** 2))
    expect(await namesOf([urlOf(etcd), ...JOBS])).toEqual([])
    const value = 'x'.repeat(10_000)
    const used = async (): Promise<number> => Number(Object(await call(etcd, 'maintenance/status', {})).dbSizeInUse)
    while ((await used()) < 0.85 * 8 * 1024 ** 2) await etcd.client().put('/jobs/1').value(value)
    expect(await namesOf([urlOf(etcd), ...JOBS])).toContain('quota')
    await putMany(etcd, 1_000, value).catch(() => {})
    expect(await namesOf([urlOf(etcd), ...JOBS])).toContain('no-space')
  })

  test('corrupt', async () => {
    const etcd = await started()
    const id: unknown = Object(await call(etcd, 'maintenance/status', {})).header.member_id
    await call(etcd, 'maintenance/alarm', { action: 'ACTIVATE', alarm: 'CORRUPT', memberID: id })
    expect(await namesOf([urlOf(etcd), ...JOBS])).toContain('corrupt')
  })

  test('compaction-off, then short-history', async () => {
    const etcd = await started()
    await putMany(etcd, 10_000, '{}')
    expect(await namesOf([urlOf(etcd), ...JOBS])).toEqual(['compaction-off'])
    const head = Number(Object(await call(etcd, 'maintenance/status', {})).header.revision)
    await call(etcd, 'kv/compaction', { revision: head - 1_000 })
    expect(await namesOf([urlOf(etcd), ...JOBS])).toEqual([])
    await call(etcd, 'kv/compaction', { revision: head - 10 })
    expect(await namesOf([urlOf(etcd), ...JOBS])).toEqual(['short-history'])
  })

  test('clock: of this machine, an hour ahead', async () => {
    const etcd = await started()
    const preload = join(temporaryFolder(), 'clock.cjs')
    writeFileSync(
      preload,
      `Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + 3_600_000 })`,
    )
    const env = { NODE_OPTIONS: `--require=${preload}` }
    const found = await findings([urlOf(etcd), ...JOBS], { env })
    expect(found.get('clock')?.problem).toContain('differ by 60 m')
  })
})

describeServer('etcd 3.4', 'doctor of an old etcd', (server) => {
  test('version', async () => {
    const etcd = await EtcdServer.start({ server })
    onTestFinished(() => etcd[Symbol.asyncDispose]())
    const found = await findings([urlOf(etcd), ...JOBS])
    expect(found.get('version')?.problem).toMatch(/^etcd 3\.4\.\d+ at .* may lose events/)
  })
})
