import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import { KubeConfig } from '@kubernetes/client-node'
import { expect, onTestFinished, test } from 'vitest'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { systemClock, systemRandom } from '../../src/adapter.js'
import { createInformer } from '../../src/index.js'
import { freePort } from '../../tools/postgres/free-port.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import type { KubeWay } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { ConnectProxy } from './connect-proxy.js'
import { SocksProxy } from './socks-proxy.js'
import { useKubernetes } from './support.js'

const PATH = '/api/v1/namespaces/default/configmaps'

function loaded(options: object): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromOptions(options)
  return kubeConfig
}

/** A mirror by a configuration, stopped when the test is over. */
function mirrorBy(kubeConfig: KubeConfig, options: Partial<KubernetesSourceOptions> = {}) {
  const source = kubernetesSource<KubeObject>({ kubeConfig, kind: 'ConfigMap', namespace: 'default', ...options })
  const informer = createInformer({ source, audit: false })
  onTestFinished(() => informer.stop())
  const errors: unknown[] = []
  informer.on('error', (error) => errors.push(error))
  return { informer, errors }
}

describeKubernetes('a proxy in the kubeconfig', (server) => {
  const own = useKubernetes(server)

  test('carries every request; after a stop none of its connections is open', async () => {
    const { admin, api } = own.kubernetes
    await using proxy = await ConnectProxy.start(api.port)
    // No server listens there: a direct connection fails.
    const nowhere = await freePort()
    const { informer, errors } = mirrorBy(through(proxy.url, { port: nowhere }))
    await admin.create(PATH, { metadata: { name: 'listed' } })
    await informer.start().synced({ timeoutMs: 60_000 })
    await admin.create(PATH, { metadata: { name: 'watched' } })
    await waitUntil('the change', () => informer.has('default/watched'))
    await informer.stop()
    await waitUntil('nothing to be left open', () => proxy.open === 0)
    expect([informer.has('default/listed'), errors]).toEqual([true, []])
    expect(new Set(proxy.wanted)).toEqual(new Set([`127.0.0.1:${nowhere}`]))
  })

  /** Of the admin, through a proxy. */
  function through(proxyUrl: string, way?: KubeWay): KubeConfig {
    const options = own.kubernetes.kubeConfig(way)
    return loaded({ ...options, clusters: options.clusters.map((cluster) => ({ ...cluster, proxyUrl })) })
  }

  test('a CA file that is replaced is used behind a proxy too, after a connection failed', async () => {
    await using proxy = await ConnectProxy.start(own.kubernetes.api.port)
    const folder = mkdtempSync(join(tmpdir(), 'ca-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const caFile = join(folder, 'ca.crt')
    const { clusters, ...options } = own.kubernetes.kubeConfig()
    // The certificate of another authority.
    writeFileSync(caFile, rootCertificates[0] ?? '')
    const behind = clusters.map(({ caData: _, ...cluster }) => ({ ...cluster, caFile, proxyUrl: proxy.url }))
    const { informer } = mirrorBy(loaded({ ...options, clusters: behind }))
    const failed = new Promise<{ readonly message: string }>((resolve) => informer.on('error', resolve))
    informer.start()
    expect((await failed).message).toContain('certificate')
    writeFileSync(caFile, Buffer.from(clusters[0]?.caData ?? '', 'base64'))
    await informer.synced({ timeoutMs: 60_000 })
  })

  test.each(['socks5', 'socks5h'])('[K4] of %s leads to an address, and keeps a silent watch', async (scheme) => {
    const { admin, api } = own.kubernetes
    await using proxy = await SocksProxy.start(api.port)
    const { informer, errors } = mirrorBy(through(proxy.url.replace('socks5', scheme)), { timeoutMs: 1_000 })
    await admin.create(PATH, { metadata: { name: scheme } })
    await informer.start().synced({ timeoutMs: 30_000 })
    await waitUntil('the watch', () => informer.status.state === 'live')
    await sleep(2_500)
    expect([informer.has(`default/${scheme}`), proxy.kinds.length > 0, errors]).toEqual([true, true, []])
  })

  test.each([
    [
      'requires credentials',
      407,
      /the proxy http:\/\/me:\*\*\*@127.0.0.1:\d+ refused .*HTTP status 407 \(it requires credentials/,
    ],
    [
      'forbids the server',
      403,
      /the proxy http:\/\/me:\*\*\*@127.0.0.1:\d+ refused .*HTTP status 403 \(may it connect to 127/,
    ],
  ])('[K4] that %s is named by the error, without its password', async (_what, status, message) => {
    const server = createServer()
    server.on('connect', (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    await expect(headThrough(`http://me:hunter2@127.0.0.1:${port}`)).rejects.toThrow(message)
  })

  test('at which no proxy listens is named by the error', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    await expect(headThrough(url)).rejects.toThrow(`the proxy ${url} failed: connect ECONNREFUSED`)
  })

  function headThrough(proxyUrl: string): Promise<string> {
    const source = kubernetesSource({ kubeConfig: through(proxyUrl), kind: 'ConfigMap' })
    return source.head({ signal: new AbortController().signal, clock: systemClock, random: systemRandom })
  }
})
