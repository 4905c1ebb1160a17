import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { kubernetesSource } from '../../adapters/kubernetes/index.js'
import { describeKubernetes } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import { type Kubernetes, type KubeWay, startKubernetes } from '../servers/kubernetes.js'
import { TokenReviewer } from '../servers/token-reviewer.js'
import { failure } from '../support/failure.js'
import { followRotations } from '../support/load.js'
import { Stage } from './stage.js'

const ACCOUNT = 'var/run/secrets/kubernetes.io/serviceaccount'

let folder = ''
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'credentials-'))))
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** As a program in a pod finds it. */
function inCluster({ clusters: [cluster] }: KubeConfig, kubernetes: Kubernetes): KubeConfig {
  const { hostname, port } = new URL(cluster?.server ?? '')
  vi.stubEnv('KUBERNETES_SERVICE_HOST', hostname)
  vi.stubEnv('KUBERNETES_SERVICE_PORT', port)
  const { caData = '' } = kubernetes.kubeConfig().clusters[0] ?? {}
  write(`${ACCOUNT}/ca.crt`, Buffer.from(caData, 'base64').toString())
  const config = new KubeConfig()
  config.loadFromCluster(`${folder}/`)
  return config
}

/** A program that returns a token without an end, and records each call. */
function withPlugin({ clusters, contexts, currentContext }: KubeConfig): KubeConfig {
  const plugin = write(
    'plugin.sh',
    'echo called >> "$CALLS"\n[ -f "$TOKEN" ] || { echo "log in first" >&2; exit 1; }\ncat "$TOKEN"\n',
  )
  const config = new KubeConfig()
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'sh',
    args: [plugin],
    env: [
      { name: 'CALLS', value: join(folder, 'calls') },
      { name: 'TOKEN', value: join(folder, 'token.json') },
    ],
  }
  config.loadFromOptions({ clusters, contexts, currentContext, users: [{ name: contexts[0]?.user, exec }] })
  return config
}

const giveToken = {
  'in a pod': (token: string) => write(`${ACCOUNT}/token`, token),
  'of a plugin': (token: string) =>
    write(
      'token.json',
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }),
    ),
}

let mirrors = 0

describeKubernetes('credentials', (server) => {
  let reviewer: TokenReviewer
  let kubernetes: Kubernetes
  beforeAll(async () => {
    reviewer = await TokenReviewer.start()
    kubernetes = await startKubernetes({ server, tokenReviewUrl: reviewer.url })
    await kubernetes.grant('alice', 'alice-reads', ['list', 'watch'], ['configmaps'])
  })
  afterAll(async () => {
    await kubernetes[Symbol.asyncDispose]()
    await reviewer[Symbol.asyncDispose]()
  })

  /** A mirror that reads as alice by a token, which is good. */
  async function withMirror(
    configOf: (config: KubeConfig, kubernetes: Kubernetes) => KubeConfig,
    act: (stage: Stage, token: string) => Promise<void>,
  ): Promise<void> {
    const token = `token-${++mirrors}`
    reviewer.users.set(token, 'alice')
    const instead = (config: KubeConfig | (() => KubeConfig), namespace: string) => {
      if (typeof config === 'function') throw new Error('it is a configuration, not a function that returns one')
      const kubeConfig = configOf(config, kubernetes)
      return kubernetesSource<KubeObject>({ kubeConfig, kind: 'ConfigMap', namespace })
    }
    await Stage.with({ kubernetes, instead }, async (stage) => {
      await stage.fill(5)
      await act(stage, token)
    })
  }

  const configs = { 'in a pod': inCluster, 'of a plugin': withPlugin }
  test.each(['in a pod', 'of a plugin'] as const)('[A7] %s, replaced twice under a writer, are read again', (where) =>
    withMirror(configs[where], async (stage, token) => {
      const tokens = [token, `${token}-second`, `${token}-third`] as const
      giveToken[where](token)
      const refusals = await followRotations(stage, {
        write: (n) => stage.put(`k${n % 7}`, n),
        rotate: async (number) => {
          for (const old of tokens) reviewer.users.delete(old)
          reviewer.users.set(tokens[number] ?? '', 'alice')
          const { asked } = reviewer
          // The server remembers for a second that a token was good.
          await stage.until('the next review of a token', () => {
            stage.resetLive()
            return reviewer.asked > asked
          })
        },
        adopt: (number) => giveToken[where](tokens[number] ?? ''),
      })
      expect(refusals).toBe(0)
    }),
  )

  test('[A7] of a function are requested again after 403 and after a move of the server, while a writer writes', async () => {
    await kubernetes.grant('bob', 'bob-reads', ['list', 'watch'], ['configmaps'])
    const other = await kubernetes.addApiServer()
    let ways: readonly KubeWay[] = []
    let current = 0
    const configOf = (port: number) => {
      ways = [{ user: 'bob', port }, { user: 'alice', port }, { port: other.port }]
      return () => kubernetes.config(ways[current])
    }
    await Stage.with({ kubernetes, configOf }, async (stage) => {
      await followRotations(stage, {
        write: (n) => stage.put(`k${n % 7}`, n),
        rotate: async (number) => {
          if (number === 2) return stage.cut()
          await kubernetes.revoke('bob-reads')
          await stage.until('the refusal', () => {
            stage.resetLive()
            return stage.codes.includes('UNAUTHORIZED')
          })
        },
        adopt: (number) => (current = number),
        // At another server.
        relists: 1,
      })
    })
  })

  test('of a plugin are requested once for all sessions', () =>
    withMirror(withPlugin, async (stage, token) => {
      giveToken['of a plugin'](token)
      await stage.live()
      stage.proxy.reset()
      await stage.put('k0', 1)
      await stage.healed()
      expect(readFileSync(join(folder, 'calls'), 'utf8')).toBe('called\n')
    }))

  test('of a plugin that fails are an error with its message, and requested again', () =>
    withMirror(withPlugin, async (stage, token) => {
      stage.informer.start()
      await stage.until('it to fail', () => stage.errors.length > 0)
      expect(stage.errors[0]).toMatchObject(failure('UNAUTHORIZED', 'no credentials: log in first'))
      giveToken['of a plugin'](token)
      await stage.healed()
    }))
})
