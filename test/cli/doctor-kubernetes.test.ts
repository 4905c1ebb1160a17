import { createServer } from 'node:http'
import { createServer as createTlsServer, request as httpsRequest } from 'node:https'
import { text as textOf } from 'node:stream/consumers'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { useKubernetes } from '../kubernetes/support.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeConfigOptions } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { listening, portOf } from '../support/listening.js'
import { findings, namesOf } from './doctor.js'
import { type CommandOptions, kubeConfigEnv, listwatch, refusalOf } from './support.js'

const using = (options: KubeConfigOptions): CommandOptions => ({ env: kubeConfigEnv(options) })
const WRITERS = 16
const PODS = ['kubernetes://default/pods']
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

describeKubernetes('doctor kubernetes://', useKubernetes, (own) => {
  // Something is always written in a cluster.
  beforeAll(async () => {
    const path = '/api/v1/namespaces/default/configmaps'
    await own.kubernetes.admin.many(WRITERS, (n) =>
      own.kubernetes.admin.create(path, { metadata: { name: `map-${n}` } }),
    )
    const timer = setInterval(() => {
      const data = { at: String(performance.now()) }
      own.kubernetes.admin.patch(`${path}/map-0`, { data }).catch(() => {})
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
      })
      const options = own.kubernetes.kubeConfig()
      const url = `http://127.0.0.1:${await portOf(server)}`
      const clusters = options.clusters.map(({ name }) => ({ name, server: url, caData: '', skipTLSVerify: true }))
      const found = await findings(PODS, using({ ...options, clusters }))
      return [...found]
        .filter(([name]) => name !== 'unverified-server')
        .map(([name, { problem, remedy }]) => `${name}: ${problem}: ${remedy}`)
    }
    const name = 'server-version'
    const tested = 'this program was tested with 1.37'
    expect(await Promise.all([ask('29+'), ask('39')])).toEqual([
      [`${name}: the server is Kubernetes 1.29, older than 1.30; ${tested}: upgrade the cluster`],
      [`${name}: the server is Kubernetes 1.39; ${tested}: upgrade listwatch`],
    ])
    expect(await Promise.all([ask('30'), ask('38+')])).toEqual([[], []])
  })

  test('latency: behind a slow line', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.kubernetes.api.port })
    const options = using(own.kubernetes.kubeConfig({ port: proxy.port }))
    expect(await namesOf(PODS, options)).toEqual([])
    proxy.delay(550)
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
    let found = await findings(PODS, options)
    await waitUntil('the API to be stale', async () => {
      if (!found.has('discovery')) found = await findings(PODS, options)
      return found.has('discovery')
    })
    expect(found.get('discovery')?.remedy).toBe(`run: kubectl describe apiservice ${name}`)
  })

  /** A webhook that is called for writes of pods, and answers after `delayMs`. `policy` is the name of its configuration. */
  async function startWebhook(delayMs: number, more: object, policy = 'policy'): Promise<AsyncDisposable> {
    const { api, admin } = own.kubernetes
    const [cert, key] = [await api.certificate(), await api.privateKey()]
    const server = createTlsServer({ cert, key }, (request, response) => {
      void textOf(request).then((text) => {
        const { apiVersion, kind, request: review } = JSON.parse(text)
        const answer = { apiVersion, kind, response: { uid: review.uid, allowed: true } }
        setTimeout(() => response.end(JSON.stringify(answer)), delayMs)
      })
    })
    const url = (await listening(server)).replace('http:', 'https:')
    await admin.create(WEBHOOKS, {
      metadata: { name: policy },
      webhooks: [
        {
          name: `after-${delayMs}.example.com`,
          clientConfig: { url: `${url}/`, caBundle: cert.toString('base64') },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          ...more,
        },
      ],
    })
    return {
      async [Symbol.asyncDispose]() {
        await admin.delete(`${WEBHOOKS}/${policy}`)
        server.closeAllConnections()
        server.close()
      },
    }
  }

  const createPod = (): Promise<unknown> =>
    own.kubernetes.admin.create('/api/v1/namespaces/default/pods?dryRun=All', {
      metadata: { name: 'reviewed' },
      spec: { containers: [{ name: 'main', image: 'none' }] },
    })

  test('webhook-latency: a webhook that answers late', async () => {
    const options = using(own.kubernetes.kubeConfig())
    await using _ = await startWebhook(1_200, { timeoutSeconds: 5 })
    expect(await namesOf(PODS, options)).toEqual([])
    await waitUntil('a write that waits for the webhook', async () => {
      const before = performance.now()
      await createPod()
      return performance.now() - before > 1_000
    })
    // Webhooks of other resources do not matter, and a user without rights does not see them.
    await own.kubernetes.grant('bob', 'reads', ['list', 'watch'], ['pods'])
    const bob = using(own.kubernetes.kubeConfig({ user: 'bob' }))
    const [found, services] = await Promise.all([
      findings(PODS, options),
      namesOf(['kubernetes://default/services'], options),
      waitUntil('the right', async () => (await namesOf(PODS, bob)).length === 0),
    ])
    expect([services, [...found.keys()]]).toEqual([[], ['webhook-latency']])
    expect(found.get('webhook-latency')).toMatchObject({
      problem: expect.stringMatching(/^each write waits 1 s on average for the webhook after-1200.example.com$/),
      remedy: expect.stringContaining('kubectl get validatingwebhookconfiguration policy -o yaml'),
    })
  })

  test('webhook-timeout: a webhook that is required, without a short timeout', async () => {
    const options = using(own.kubernetes.kubeConfig())
    const { admin } = own.kubernetes
    // Each excludes the namespace, or is not required.
    const name = 'kubernetes.io/metadata.name'
    const harmless = [
      { failurePolicy: 'Ignore' },
      { namespaceSelector: { matchLabels: { [name]: 'kube-system' } } },
      { namespaceSelector: { matchExpressions: [{ key: name, operator: 'NotIn', values: ['default', 'other'] }] } },
      { namespaceSelector: { matchExpressions: [{ key: name, operator: 'DoesNotExist' }] } },
    ]
    const webhooks = await Promise.all(harmless.map((more, n) => startWebhook(0, more, `harmless-${n}`)))
    // A finding names the webhook.
    expect([...(await findings(PODS, options)).values()]).toEqual([])
    await Promise.all(webhooks.map((webhook) => webhook[Symbol.asyncDispose]()))
    const exists = { matchExpressions: [{ key: name, operator: 'Exists' }] }
    await using _ = await startWebhook(0, { namespaceSelector: exists })
    const found = await findings(PODS, options)
    expect([...found.keys()]).toEqual(['webhook-timeout'])
    const { problem, remedy = '' } = found.get('webhook-timeout') ?? {}
    expect(problem).toMatch(/^each write waits 10 s and then fails, while .* after-0.example.com does not answer$/)
    const [, kind, configuration, patch = ''] =
      /run: kubectl patch (\S+) (\S+) --type=json -p '(.*)',/.exec(remedy) ?? []
    expect([kind, configuration]).toEqual(['validatingwebhookconfiguration', 'policy'])
    await admin.call('PATCH', `${WEBHOOKS}/policy`, JSON.parse(patch))
    expect(await namesOf(PODS, options)).toEqual([])
  })

  test('version-stride: other resources are written more often', async () => {
    const options = using(own.kubernetes.kubeConfig())
    let isBusy = true
    // Each writes an object of its own: without conflicts, the server is fast enough also on a busy machine.
    const writing = own.kubernetes.admin.many(WRITERS, async (n) => {
      const path = `/api/v1/namespaces/default/configmaps/map-${n}`
      for (let count = 0; isBusy; count++)
        await own.kubernetes.admin.patch(path, { data: { count: String(count) } }).catch(() => {})
    })
    try {
      // The writes are in the list of config maps.
      const writes = ['kubernetes://default/configmaps']
      const [found, ofWrites] = await Promise.all([findings(PODS, options), namesOf(writes, options)])
      expect([...found.keys()]).toEqual(['version-stride'])
      expect(found.get('version-stride')?.problem).toMatch(/advanced by \d{3,} in 2 s, and 0 of the changes/)
      expect(ofWrites).toEqual([])
    } finally {
      isBusy = false
      await writing
    }
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

  describe('of another API server over the same etcd', () => {
    test('bookmarks: without a watch cache', async () => {
      const { port } = await own.kubernetes.addApiServer({ flags: ['--watch-cache=false'] })
      expect(await namesOf(PODS, using(own.kubernetes.kubeConfig({ port })))).toEqual(['bookmarks'])
    })

    test('streamed-lists and readiness', async () => {
      await using between = await startFaultProxy({ targetPort: own.kubernetes.etcd.port })
      const flags = ['--feature-gates=WatchList=false']
      const api = await own.kubernetes.addApiServer({ flags, etcdPort: between.port })
      const options = using(own.kubernetes.kubeConfig({ port: api.port }))
      expect(await namesOf(PODS, options)).toEqual(['streamed-lists'])
      between.reset()
      between.refuse()
      // The server remembers the last answer of its etcd for a moment.
      await waitUntil('the server to miss its etcd', async () => !(await api.isReady()))
      const found = await findings(['kubernetes://*/pods'], options)
      expect(found.get('readiness')?.problem).toContain('etcd')
      await api.kill()
    })
  })
})
