import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Etcd3 } from 'etcd3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { etcdCluster, etcdLeases, etcdSource } from '../../adapters/etcd/index.js'
import { createInformer, groupInformers } from '../../src/index.js'
import { temporaryFolder } from '../../tools/postgres/platform.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { failure } from '../support/failure.js'
import { portOf } from '../support/listening.js'
import { followRotations } from '../support/load.js'
import { context } from '../support/source-calls.js'
import { listed } from './follow.js'
import { Stage } from './stage.js'

/** How long a token is good for, in seconds. */
const TOKEN_TTL = 2

describeEtcd('etcd with authentication', (server) => {
  let etcd: EtcdServer
  let root: Etcd3
  const auth = { username: 'reader', password: 'secret' }
  beforeAll(async () => {
    etcd = await EtcdServer.start({ server, args: ['--auth-token-ttl', String(TOKEN_TTL)] })
    const client = etcd.client()
    const role = client.role('reads')
    await role.create()
    await role.grant({ permission: 'Readwrite', range: client.range({ prefix: '/stage' }) })
    await client.user('root').create('root')
    await client.user('root').addRole('root')
    await client.user('reader').create('secret')
    await client.user('reader').addRole('reads')
    await client.auth.authEnable()
    root = etcd.client({ auth: { username: 'root', password: 'root' } })
  })
  afterAll(() => etcd[Symbol.asyncDispose]())

  test('a list and a watch authenticate with user and password, and again after the token has expired', async () => {
    await using stage = await Stage.open({ etcd, source: { auth }, writer: root })
    await stage.put(['k', 1])
    await stage.live()
    await stage.healed()
    for (let times = 1; times <= 2; times++) {
      await new Promise((resolve) => setTimeout(resolve, (TOKEN_TTL + 1) * 1_000))
      stage.proxy.reset()
      await stage.put(['k', 1 + times])
      await stage.healed()
    }
    expect(stage.relists).toBe(0)
    expect(stage.errors.map(({ code }) => code).filter((code) => code !== 'UNAVAILABLE')).toEqual([])
  })

  test('[E15] collections need the right to read what lies between them, which the error names', async () => {
    await root.role('reads').grant({ permission: 'Read', range: root.range({ prefix: '/zoo/' }) })
    const cluster = etcdCluster({ endpoints: etcd.endpoint, auth })
    const informers = ['/stage-shop/', '/zoo/'].map((prefix) =>
      createInformer({ source: cluster.collection({ prefix }) }),
    )
    await using group = groupInformers(informers)
    group.start()
    for (const each of informers)
      await expect(each.synced({ timeoutMs: 20_000 })).rejects.toMatchObject(
        failure('UNAUTHORIZED', 'reads the keys from /stage-shop/ to /zoo0'),
      )
  })

  test('[A7][E11] a password that is replaced twice while a writer writes is followed by mirror and leases', async () => {
    const user = root.user('reader')
    let password = auth.password
    const source = { auth: async () => ({ ...auth, password }) }
    // A login takes seconds on a busy machine. A second try of this test finds no record of the first.
    const records = { group: randomUUID(), prefix: '/stage/', leaseMs: 15_000 }
    const leases = etcdLeases({ ...source, endpoints: etcd.endpoint, ...records })
    const session = leases.open()
    onTestFinished(() => session.close())
    const renew = (renewal: number) =>
      session.renew({ member: 'member000001', renewal, members: [], holds: [] }, [], new AbortController().signal)
    await renew(0)
    await using stage = await Stage.open({ etcd, source, writer: root })
    const passwords = [auth.password, 'other', 'third']
    try {
      await followRotations(stage, {
        write: (n) => stage.put([`k${n % 7}`, n % 3 === 0 ? undefined : n]),
        rotate: async (number) => {
          await user.setPassword(passwords[number] ?? '')
          stage.proxy.reset()
          if (password !== passwords[number]) await expect(renew(1)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
        },
        adopt: (number) => {
          password = passwords[number] ?? ''
        },
      })
      await renew(2)
    } finally {
      await user.setPassword(auth.password)
    }
  })

  test('[A7][E11] the login of another user that ends late does not replace the token of the current one', async () => {
    await root.user('leaver').create('secret')
    await root.user('leaver').addRole('reads')
    const stop = new AbortController()
    let login = { ...auth, username: 'leaver' }
    const source = etcdSource({ endpoints: etcd.endpoint, prefix: '/stage', auth: () => login })
    const first = source.head(context())
    await new Promise((resolve) => setTimeout(resolve, 20))
    login = auth
    setTimeout(() => stop.abort(), 1)
    await expect(source.head(context(stop.signal))).rejects.toMatchObject({ code: 'STOPPED' })
    await first
    await root.user('leaver').removeRole('reads')
    await expect(source.head(context())).resolves.toMatch(/^etcdh1\./)
  })

  test.each<[string, object, RegExp]>([
    ['a wrong password', { auth: { ...auth, password: 'x' } }, /authentication failed.*check auth: username, password/],
    ['nobody', {}, /user name is empty.*check auth: username, password/],
    [
      'a user who may not read these keys',
      { auth, prefix: '/other/' },
      /permission denied.*etcdctl role grant-permission <role> read/,
    ],
  ])('%s is rejected with one line that contains a hint', async (_what, options, says) => {
    const source = etcdSource({ endpoints: etcd.endpoint, prefix: '/stage', ...options })
    await expect(listed(source)).rejects.toMatchObject(failure('UNAUTHORIZED', says))
  })

  test('a mirror whose permission is revoked reports it, keeps its objects, and continues when the permission is back', async () => {
    const role = root.role('reads')
    const range = root.range({ prefix: '/stage' })
    await using stage = await Stage.open({ etcd, source: { auth }, writer: root })
    await stage.put(['k', 1])
    await stage.live()
    await role.revoke({ permission: 'Read', range })
    stage.proxy.reset()
    await stage.until('the refusal', () => stage.errors.some(({ code }) => code === 'UNAUTHORIZED'))
    expect(stage.informer.get(`${stage.prefix}k`)).toEqual({ n: 1 })
    await role.grant({ permission: 'Read', range })
    await stage.put(['k', 2])
    await stage.healed(60_000)
  })

  test('[E12] with JWT, mirrors and leases continue after a change of users, by an Etcd3 and by endpoints', async () => {
    const folder = await temporaryFolder('listwatch-jwt-')
    onTestFinished(() => rm(folder, { recursive: true }))
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const [publicPath, privatePath] = [join(folder, 'public.pem'), join(folder, 'private.pem')]
    await writeFile(publicPath, publicKey.export({ type: 'spki', format: 'pem' }))
    await writeFile(privatePath, privateKey.export({ type: 'pkcs1', format: 'pem' }))
    const token = `jwt,pub-key=${publicPath},priv-key=${privatePath},sign-method=RS256,ttl=10m`
    const jwt = await EtcdServer.start({ server, args: ['--auth-token', token] })
    onTestFinished(() => jwt[Symbol.asyncDispose]())
    const login = { username: 'root', password: 'root' }
    const admin = jwt.client({ auth: login })
    await jwt.client().user('root').create('root')
    await jwt.client().user('root').addRole('root')
    await jwt.client().auth.authEnable()
    const { signal } = new AbortController()
    const of = [{ client: jwt.client({ auth: login }) }, { endpoints: jwt.endpoint, auth: login }].map((own, at) => {
      const mirror = createInformer({ source: etcdSource({ ...own, prefix: '/a/' }), audit: false }).start()
      const session = etcdLeases({ ...own, group: `g${at}`, leaseMs: 3_000 }).open()
      onTestFinished(async () => void (await Promise.all([mirror.stop(), session.close()])))
      return { mirror, session }
    })
    const renewed = (renewal: number) => ({ member: 'member000001', renewal, members: [], holds: [] })
    for (const { mirror, session } of of) {
      await mirror.synced()
      await session.renew(renewed(0), [], signal)
    }
    await admin.user('another').create('another')
    for (const { mirror, session } of of) {
      await mirror.fresh({ timeoutMs: 5_000 })
      await session.renew(renewed(1), [], signal)
    }
  })

  test('a user and a password are ignored if the server has no authentication', async () => {
    await using open = await EtcdServer.start({ server })
    await expect(listed(etcdSource({ endpoints: open.endpoint, prefix: 'a', auth }))).resolves.toMatch(/^etcd1\./)
  })
})

describeEtcd('an address of another server', (server) => {
  test('[A5] a function for auth that never ends is left when the signal aborts', async () => {
    const source = etcdSource({ endpoints: '127.0.0.1:1', prefix: 'a', auth: () => new Promise<never>(() => {}) })
    await expect(source.head(context(AbortSignal.timeout(20)))).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('[E11] TLS works with the right certificate, also if that is replaced, and another one is rejected with a hint', async () => {
    await using etcd = await EtcdServer.start({ server, hasTls: true })
    await using other = await EtcdServer.start({ server, hasTls: true })
    const options = { endpoints: etcd.url, prefix: 'a' }
    const credentials = { rootCertificate: await etcd.certificate() }
    let current = { rootCertificate: await other.certificate() }
    const rotated = etcdSource({ ...options, credentials: () => current })
    await expect(listed(rotated)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    current = credentials
    await expect(listed(rotated)).resolves.toMatch(/^etcd1\./)
    const wrong = { rootCertificate: await other.certificate() }
    await expect(listed(etcdSource({ ...options, credentials: wrong }))).rejects.toMatchObject(
      failure('UNAVAILABLE', /certificate.*check the scheme of the endpoints and credentials/i),
    )
  })

  const hello = (): Server => createServer((_request, response) => response.end('hello'))
  const endEach = (): Server => createTcpServer((socket) => socket.once('data', () => socket.end()))
  test.each<[string, string | (() => Server), string]>([
    ['no server', '127.0.0.1:1', 'no server listens there: check host and port'],
    ['no such host', 'no-such-host.invalid:2379', 'no such host: check its name'],
    ['another server', hello, 'is not etcd: check host and port)'],
    ['a server that ends each connection', endEach, 'ended the connection: is this an etcd server? check'],
  ])('%s fails with a one-line message, which names an endpoint that is another server', async (_what, at, says) => {
    const endpoints = typeof at === 'string' ? at : `127.0.0.1:${await portOf(at())}`
    const hint = typeof at === 'string' ? says : `(${endpoints} ${says}`
    await expect(listed(etcdSource({ endpoints, prefix: 'a' }))).rejects.toMatchObject(failure('UNAVAILABLE', hint))
  })

  test('a server that resets each connection, and TLS to one without TLS, fail with a hint', async () => {
    await using etcd = await EtcdServer.start({ server })
    const port = await portOf(createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())))
    const [scheme, host] = ['check the scheme of the endpoints and credentials', `://127.0.0.1:${port}`]
    for (const endpoints of [`http${host}`, `https${host}`, etcd.url.replace('http', 'https')]) {
      const says = endpoints.endsWith(host) ? `check host and port; ${scheme}` : scheme
      await expect(listed(etcdSource({ endpoints, prefix: 'a' }))).rejects.toThrow(says)
    }
  })
})
