import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { CertificateAuthority, type ClientCertificate } from '../servers/certificate-authority.js'
import { describeKubernetes } from '../servers/index.js'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { followRotations, Load } from '../support/load.js'
import { ConnectProxy } from './connect-proxy.js'
import { MutualTlsFront } from './mutual-tls-front.js'
import { Stage } from './stage.js'

/** The first certificate is valid this long: a mirror has listed and followed by then. */
const FIRST_MS = 20_000
const SECOND_MS = 45_000
const LATER_MS = 3_600_000

/** A program's configuration with a client certificate, and how it comes to have another one. */
interface Program {
  readonly kubeConfig: (kubernetes: Kubernetes, port: number) => KubeConfig | (() => KubeConfig)
  readonly give: (certificate: ClientCertificate, expiresAt: number) => void
}

function configOf(kubernetes: Kubernetes, port: number, user: object, proxyUrl?: string): KubeConfig {
  const { clusters, contexts, currentContext } = kubernetes.kubeConfig({ port })
  const users = [{ name: contexts[0]?.user ?? '', ...user }]
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: clusters.map((cluster) => ({ ...cluster, proxyUrl })),
    contexts,
    currentContext,
    users,
  })
  return config
}

function filesOf(folder: string): { readonly certFile: string; readonly keyFile: string } {
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
}

function writeFiles(folder: string, { cert, key }: ClientCertificate): void {
  const { certFile, keyFile } = filesOf(folder)
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
}

function inFiles(folder: string): Program {
  return {
    kubeConfig: (kubernetes, port) => configOf(kubernetes, port, filesOf(folder)),
    give: (certificate) => writeFiles(folder, certificate),
  }
}

/** The fault proxy stands before the proxy of the configuration. */
function inFilesBehindProxy(folder: string): Program {
  return {
    ...inFiles(folder),
    kubeConfig: (kubernetes, port) =>
      configOf(kubernetes, kubernetes.api.port, filesOf(folder), `http://127.0.0.1:${port}`),
  }
}

function ofFunction(): Program {
  let user = {}
  return {
    kubeConfig: (kubernetes, port) => () => configOf(kubernetes, port, user),
    give: ({ cert, key }) => (user = { certData: cert.toString('base64'), keyData: key.toString('base64') }),
  }
}

/**
 * client-node keeps a certificate until the time that the plugin names, or for as long as it is not refused. `instead`: the
 * plugin returns this and no certificate.
 */
function ofPlugin(folder: string, namesItsEnd: boolean, instead?: object): Program {
  const file = join(folder, 'credential.json')
  const apiVersion = 'client.authentication.k8s.io/v1'
  return {
    kubeConfig: (kubernetes, port) =>
      configOf(kubernetes, port, { exec: { apiVersion, command: 'cat', args: [file], interactiveMode: 'Never' } }),
    give: ({ cert, key }, expiresAt) => {
      const status = {
        clientCertificateData: cert.toString(),
        clientKeyData: key.toString(),
        ...(namesItsEnd ? { expirationTimestamp: new Date(expiresAt).toISOString() } : {}),
      }
      writeFileSync(file, JSON.stringify({ apiVersion, kind: 'ExecCredential', status: instead ?? status }))
    },
  }
}

const PROGRAMS: readonly (readonly [title: string, program: (folder: string) => Program, isProxied?: boolean])[] = [
  ['in files', inFiles],
  ['in files, behind a proxy,', inFilesBehindProxy, true],
  ['of a function', ofFunction],
  ['of a plugin that names their end', (folder) => ofPlugin(folder, true)],
  ['of a plugin that does not name their end', (folder) => ofPlugin(folder, false)],
]

/** A certificate ends at a whole second. */
function textOf(end = 0): string {
  return new Date(Math.floor(end / 1_000) * 1_000).toISOString()
}

function temporary({ onTestFinished }: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describeKubernetes.concurrent('client certificates', (server) => {
  let authority: CertificateAuthority
  let kubernetes: Kubernetes
  beforeAll(async () => {
    authority = await CertificateAuthority.create()
    kubernetes = await startKubernetes({ server, flags: [`--client-ca-file=${authority.file}`] })
    await kubernetes.grant('alice', 'alice-reads', ['list', 'watch'], ['configmaps'])
  })
  afterAll(async () => {
    await kubernetes[Symbol.asyncDispose]()
    await authority[Symbol.asyncDispose]()
  })

  /** `way`: the port to which the fault proxy connects. */
  async function withMirror(program: Program, way: number, act: (stage: Stage) => Promise<void>): Promise<void> {
    const stage = await Stage.open({ kubernetes, speed: 1, configOf: (port) => program.kubeConfig(kubernetes, port) })
    stage.proxy.retarget(way)
    await stage.run(async () => {
      await stage.fill(5)
      await act(stage)
    })
  }

  test.concurrent.for(PROGRAMS)(
    '[A7][K18] %s that expire twice while a writer writes are replaced without a list',
    async ([, programIn, isProxied = false], context) => {
      const program = programIn(temporary(context))
      const ends = [FIRST_MS, SECOND_MS, LATER_MS].map((ms) => Date.now() + ms)
      const certificates = await Promise.all(ends.map((end) => authority.issue('alice', end)))
      const give = (number: number): void => {
        const [certificate, end] = [certificates[number], ends[number]]
        if (certificate !== undefined && end !== undefined) program.give(certificate, end)
      }
      give(0)
      await using proxy = await ConnectProxy.start(kubernetes.api.port)
      await withMirror(program, isProxied ? Number(new URL(proxy.url).port) : kubernetes.api.port, async (stage) => {
        const refusals = await followRotations(stage, {
          write: (n) => stage.put(`k${n % 7}`, n),
          rotate: async (number) => {
            const end = ends[number - 1] ?? 0
            const { codes } = stage
            await waitUntil('the end of the certificate', () => Date.now() > end + 1_000)
            // The open watch continues.
            expect(stage.codes).toEqual(codes)
            stage.proxy.reset()
          },
          adopt: give,
        })
        expect(refusals).toBe(0)
        const [refusal] = stage.errors.filter(({ code }) => code === 'UNAUTHORIZED')
        expect(refusal?.message).toContain(`(the client certificate CN=alice expired at ${textOf(ends[0])}: renew it)`)
      })
    },
  )

  test.concurrent('[A7] in files are read for the next connection, while the old ones are still accepted', async (context) => {
    const program = inFiles(temporary(context))
    const end = Date.now() + LATER_MS
    program.give(await authority.issue('bob', end), end)
    await kubernetes.grant('bob', 'bob-reads', ['list', 'watch'], ['configmaps'])
    await withMirror(program, kubernetes.api.port, async (stage) => {
      await stage.live()
      await using load = new Load((n) => stage.put(`k${n % 7}`, n))
      await load.more(20)
      program.give(await authority.issue('alice', end), end)
      // Another connection of the first user is forbidden.
      await kubernetes.revoke('bob-reads')
      stage.proxy.reset()
      await load.more(20)
      await stage.healed()
      expect([stage.codes.includes('UNAUTHORIZED'), stage.relists]).toEqual([false, 0])
    })
  })

  test.concurrent('[A7] in files that are replaced one after the other are an error until they match', async (context) => {
    const folder = temporary(context)
    const end = Date.now() + LATER_MS
    const [first, second] = await Promise.all([authority.issue('alice', end), authority.issue('alice', end)])
    writeFiles(folder, first)
    await withMirror(inFiles(folder), kubernetes.api.port, async (stage) => {
      await stage.live()
      await using load = new Load((n) => stage.put(`k${n % 7}`, n))
      writeFiles(folder, { ...first, cert: second.cert })
      stage.proxy.reset()
      await stage.until('the error', () => stage.codes.includes('UNAUTHORIZED'))
      expect(stage.errors.at(-1)?.message).toContain('a certificate or its key cannot be read')
      writeFiles(folder, second)
      await stage.until('the watch to be live again', () => stage.informer.status.state === 'live')
      await load.more(20)
      await stage.healedAfter(0)
    })
  })

  test.concurrent('[A7][K18] of a plugin that does not name their end are replaced if a server before the API server closes each connection', async (context) => {
    const program = ofPlugin(temporary(context), false)
    const end = Date.now() + FIRST_MS
    const later = end + LATER_MS
    program.give(await authority.issue('alice', end), end)
    await using front = await MutualTlsFront.start(kubernetes.api, authority, await authority.issue('alice', later))
    await withMirror(program, front.port, async (stage) => {
      await stage.live()
      await using load = new Load((n) => stage.put(`k${n % 7}`, n))
      await waitUntil('the end of the certificate', () => Date.now() > end + 1_000)
      expect(stage.codes).toEqual([])
      stage.proxy.reset()
      const said = `(the client certificate CN=alice expired at ${textOf(end)}: renew it)`
      await stage.until('the error', () => stage.errors.some(({ message }) => message.includes(said)))
      program.give(await authority.issue('alice', later), later)
      await stage.until('the watch to be live again', () => stage.informer.status.state === 'live')
      await load.more(20)
      await stage.healedAfter(0)
    })
  })

  test.concurrent('[A7][K18] that a server before the API server requires are requested again from a plugin', async (context) => {
    const folder = temporary(context)
    const end = Date.now() + LATER_MS
    const [program, withToken] = [ofPlugin(folder, false), ofPlugin(folder, false, { token: 'token' })]
    const certificate = await authority.issue('alice', end)
    withToken.give(certificate, end)
    await using front = await MutualTlsFront.start(kubernetes.api, authority, certificate)
    await withMirror(program, front.port, async (stage) => {
      stage.informer.start()
      await stage.until('the refusal', () => stage.codes.includes('UNAUTHORIZED'))
      expect(stage.errors.at(-1)?.message).toContain('(the server refuses the client certificate')
      program.give(certificate, end)
      await stage.healed()
    })
  })
})
