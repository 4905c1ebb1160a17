import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { useKubernetes } from '../kubernetes/support.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeConfigOptions } from '../servers/kubernetes.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { ensureBuilt } from '../support/build.js'
import { findings, namesOf } from './doctor.js'
import { type CommandOptions, listwatch, refusalOf } from './support.js'

beforeAll(ensureBuilt)

/** The environment of a command that uses this kubeconfig. */
function using(options: KubeConfigOptions): CommandOptions {
  const config = new KubeConfig()
  config.loadFromOptions(options)
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'config')
  writeFileSync(path, config.exportConfig())
  return { env: { KUBECONFIG: path } }
}

const PODS = ['kubernetes://default/pods']

describeKubernetes('doctor kubernetes://', (programs) => {
  const own = useKubernetes(programs)

  // Something is always written in a cluster.
  beforeAll(async () => {
    const path = '/api/v1/namespaces/default/configmaps'
    await own.kubernetes.admin.create(path, { metadata: { name: 'writes' } })
    const timer = setInterval(() => {
      const data = { at: String(performance.now()) }
      own.kubernetes.admin.patch(`${path}/writes`, { data }).catch(() => {})
    }, 500)
    return () => clearInterval(timer)
  })

  test('finds nothing on a healthy server', async () => {
    expect(await namesOf(PODS, using(own.kubernetes.kubeConfig()))).toEqual([])
  })

  test('no connection, and a wrong token: exit code 2', async () => {
    const nowhere = using(own.kubernetes.kubeConfig({ port: 1 }))
    expect(await refusalOf(listwatch(['doctor', ...PODS], nowhere))).toContain('no server listens at 127.0.0.1:1')
    const stranger = using(own.kubernetes.kubeConfig({ token: 'wrong' }))
    expect(await refusalOf(listwatch(['doctor', ...PODS], stranger))).toContain('Unauthorized')
  })

  test('resource: an unknown one, and an unknown namespace', async () => {
    const options = using(own.kubernetes.kubeConfig())
    const unknown = await findings(['kubernetes://default/podz'], options)
    expect([...unknown.keys()]).toEqual(['resource'])
    expect(unknown.get('resource')).toMatchObject({
      problem: 'the server has no resource "podz"',
      remedy: 'run: kubectl api-resources',
    })
    const elsewhere = await findings(['kubernetes://nowhere/pods'], options)
    expect(elsewhere.get('resource')?.problem).toBe('there is no namespace "nowhere"')
  })

  test('verbs: a resource that cannot be listed', async () => {
    const options = using(own.kubernetes.kubeConfig())
    expect(await namesOf(['kubernetes://*/tokenreviews'], options)).toContain('verbs')
  })

  test('list-right and watch-right', async () => {
    const options = using(own.kubernetes.kubeConfig({ user: 'alice' }))
    expect(await namesOf(PODS, options)).toEqual(['list-right', 'watch-right'])
    await own.kubernetes.grant('alice', 'lists', ['list'], ['pods'])
    const found = await findings(PODS, options)
    expect([...found.keys()]).toEqual(['watch-right'])
    expect(found.get('watch-right')?.remedy).toContain('--verb=list,watch --resource=pods -n default')
    await own.kubernetes.grant('alice', 'lists', ['list', 'watch'], ['pods'])
    await waitUntil('the right', async () => (await namesOf(PODS, options)).length === 0)
  })

  test('server-version: an old and a new server, and supported ones of several vendors', async () => {
    const { port } = own.kubernetes.api
    const ask = async (minor: string): Promise<readonly string[]> => {
      const server = createServer((request, response) => {
        if (request.url === '/version') return void response.end(JSON.stringify({ major: '1', minor }))
        const { url: path = '', headers } = request
        const from = httpsRequest({ port, path, headers, rejectUnauthorized: false }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers)
          answer.pipe(response)
        })
        from.on('error', () => response.destroy()).end()
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const options = own.kubernetes.kubeConfig()
      const url = `http://127.0.0.1:${Object(server.address()).port}`
      const clusters = options.clusters.map(({ name }) => ({ name, server: url, caData: '', skipTLSVerify: true }))
      try {
        const found = await findings(PODS, using({ ...options, clusters }))
        return [...found]
          .filter(([name]) => name !== 'unverified-server')
          .map(([name, { problem, remedy }]) => `${name}: ${problem}: ${remedy}`)
      } finally {
        server.closeAllConnections()
        server.close()
      }
    }
    const name = 'server-version'
    const tested = 'this program was tested with 1.36'
    expect(await ask('29+')).toEqual([
      `${name}: the server is Kubernetes 1.29, older than 1.30; ${tested}: upgrade the cluster`,
    ])
    expect(await ask('38')).toEqual([`${name}: the server is Kubernetes 1.38; ${tested}: upgrade listwatch`])
    expect([await ask('30'), await ask('37+')]).toEqual([[], []])
  })

  test('latency: behind a slow line', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.kubernetes.api.port })
    const options = using(own.kubernetes.kubeConfig({ port: proxy.port }))
    expect(await namesOf(PODS, options)).toEqual([])
    proxy.delay(700)
    expect(await namesOf(PODS, options)).toEqual(['latency'])
  })

  test('discovery: the server of an API does not exist', async () => {
    const name = 'v1beta1.metrics.k8s.io'
    const path = '/apis/apiregistration.k8s.io/v1/apiservices'
    await own.kubernetes.admin.create(path, {
      metadata: { name },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { name: 'metrics', namespace: 'default' },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    })
    onTestFinished(() => own.kubernetes.admin.delete(`${path}/${name}`))
    const options = using(own.kubernetes.kubeConfig())
    await waitUntil('the API to be stale', async () => (await namesOf(PODS, options)).includes('discovery'))
    const found = await findings(PODS, options)
    expect(found.get('discovery')?.remedy).toBe(`run: kubectl describe apiservice ${name}`)
  })

  test('token-expiry: of the token of a service account', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    await own.kubernetes.admin.create(accounts, { metadata: { name: 'reader' } })
    const request = await own.kubernetes.admin.create(`${accounts}/reader/token`, {
      metadata: { name: 'reader' },
      spec: { expirationSeconds: 600 },
    })
    const token = String(Object(request['status']).token)
    const found = await findings(PODS, using(own.kubernetes.kubeConfig({ token })))
    expect(found.get('token-expiry')?.problem).toMatch(/expires in (10|9) m/)
  })

  test('unverified-server', async () => {
    const options = own.kubernetes.kubeConfig()
    const clusters = options.clusters.map(({ name, server }) => ({ name, server, caData: '', skipTLSVerify: true }))
    expect(await namesOf(PODS, using({ ...options, clusters }))).toEqual(['unverified-server'])
  })

  describe('of a server of its own', () => {
    test('bookmarks: without a watch cache', async () => {
      await using kubernetes = await startKubernetes({ server: programs, watchCache: false })
      expect(await namesOf(PODS, using(kubernetes.kubeConfig()))).toEqual(['bookmarks'])
    })

    test('streamed-lists and readiness', async () => {
      await using kubernetes = await startKubernetes({ server: programs, watchList: false })
      const options = using(kubernetes.kubeConfig())
      expect(await namesOf(PODS, options)).toEqual(['streamed-lists'])
      await kubernetes.etcd.kill()
      const found = await findings(['kubernetes://*/pods'], options)
      expect(found.get('readiness')?.problem).toContain('etcd')
    })
  })
})
