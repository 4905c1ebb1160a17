import { generateKeyPairSync } from 'node:crypto'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import type { FoundServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'

/** The users of the server by name. The admin has all rights, the others have those that are granted. */
export const KUBE_TOKENS = { admin: 'admin-token', alice: 'alice-token', bob: 'bob-token' } as const
export type KubeUser = keyof typeof KUBE_TOKENS

export interface ApiServerOptions {
  readonly server: FoundServer
  readonly etcdPort: number
  /** More of kube-apiserver's own flags; a later one wins over an earlier. */
  readonly flags?: readonly string[]
  /** Whose certificate it has, so that clients of that one trust it. Default: its own. */
  readonly sibling?: ApiServer
  /** The http address at which it looks up the user of an unknown token. */
  readonly tokenReviewUrl?: string | undefined
}

const START_TIMEOUT_MS = 60_000

/** One kube-apiserver, which tests stop, kill and start again. Port and certificate stay the same. */
export class ApiServer extends ServerProcess<ApiServerOptions> {
  static async start(options: ApiServerOptions): Promise<ApiServer> {
    return await started(new ApiServer(options, await placeFor('kube')), async (api) => {
      await api.#furnish()
      await api.start()
    })
  }

  /** Starts it, and waits until it is ready. With flags: these beside those it was made with, from now on. */
  async start(flags: readonly string[] = []): Promise<void> {
    await this.spawn('kube-apiserver', [...this.#flags(), ...flags])
    await this.answering('kube-apiserver', () => this.isReady(), START_TIMEOUT_MS)
  }

  /** What its clients must trust. */
  async certificate(): Promise<Buffer> {
    return await readFile(join(this.folder, 'apiserver.crt'))
  }

  async privateKey(): Promise<Buffer> {
    return await readFile(join(this.folder, 'apiserver.key'))
  }

  async #furnish(): Promise<void> {
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'sec1', format: 'pem' },
    })
    await writeFile(join(this.folder, 'sa.key'), privateKey)
    const rows = Object.entries(KUBE_TOKENS).map(([user, token]) => {
      const group = user === 'admin' ? ',system:masters' : ''
      return `${token},${user},${user}${group}\n`
    })
    await writeFile(join(this.folder, 'tokens.csv'), rows.join(''))
    const { sibling } = this.options
    if (sibling !== undefined)
      for (const name of ['apiserver.crt', 'apiserver.key'])
        await copyFile(join(sibling.folder, name), join(this.folder, name))
    const url = this.options.tokenReviewUrl
    if (url !== undefined) await writeFile(join(this.folder, 'review.yaml'), reviewConfig(url))
  }

  #flags(): readonly string[] {
    const at = (name: string): string => join(this.folder, name)
    const { etcdPort, flags = [], tokenReviewUrl } = this.options
    return [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      // Tests compact when they want to.
      '--etcd-compaction-interval=0',
      ...[`--cert-dir=${this.folder}`, `--secure-port=${this.port}`, '--bind-address=127.0.0.1'],
      ...[`--service-account-key-file=${at('sa.key')}`, `--service-account-signing-key-file=${at('sa.key')}`],
      ...['--service-account-issuer=https://local', '--service-cluster-ip-range=10.0.0.0/24'],
      ...[`--token-auth-file=${at('tokens.csv')}`, '--authorization-mode=RBAC'],
      ...(tokenReviewUrl === undefined
        ? []
        : [
            `--authentication-token-webhook-config-file=${at('review.yaml')}`,
            '--authentication-token-webhook-version=v1',
            '--authentication-token-webhook-cache-ttl=1s',
          ]),
      // Pods without a controller manager.
      '--disable-admission-plugins=ServiceAccount',
      // Several over one etcd, and one that is killed: neither needs the record of active servers.
      '--endpoint-reconciler-type=none',
      ...flags,
    ]
  }

  async isReady(): Promise<boolean> {
    const ca = await this.certificate().catch(() => undefined)
    if (ca === undefined) return false
    return await new Promise((resolve) => {
      const headers = { authorization: `Bearer ${KUBE_TOKENS.admin}` }
      const options = { host: '127.0.0.1', port: this.port, path: '/readyz', headers, ca, agent: false, timeout: 2_000 }
      const outgoing = request(options, (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      })
      outgoing.on('timeout', () => outgoing.destroy())
      outgoing.on('error', () => resolve(false))
      outgoing.end()
    })
  }
}

function reviewConfig(url: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'reviewer', cluster: { server: url } }],
    contexts: [{ name: 'reviewer', context: { cluster: 'reviewer', user: '' } }],
    'current-context': 'reviewer',
  })
}
