import { type Agent, validateHeaderValue } from 'node:http'
import type { RequestOptions } from 'node:https'
import { createSecureContext } from 'node:tls'
import { messageOf, OptionError, SourceError } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { elementsOf, hasMethods, propertiesOf } from '../../common/properties.js'

/**
 * The part of `KubeConfig` of @kubernetes/client-node that is used. It is never modified, and is read for each
 * connection.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node'
 *
 * const kubeConfig = new KubeConfig()
 * kubeConfig.loadFromDefault() // `~/.kube/config`, or the service account of the pod.
 * const source = kubernetesSource({ kubeConfig, kind: 'Node' })
 * ```
 */
export interface KubeConfigLike {
  /** Returns the name of the current context. */
  getCurrentContext(): string
  /** Returns the cluster of the current context; null if there is none. */
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string | undefined } | null
  /** Adds the headers, certificates and keys of the current user to the options. */
  applyToHTTPSOptions(options: RequestOptions): Promise<void>
}

/**
 * A KubeConfig, or a function that returns one. The function is called again before the next connection when a
 * connection failed or the server rejected the credentials (401) or the user (403).
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node'
 *
 * function load(): KubeConfig {
 *   const config = new KubeConfig()
 *   config.loadFromFile('/etc/agent/kubeconfig')
 *   return config
 * }
 * const source = kubernetesSource({ kubeConfig: load, kind: 'Node' }) // Read again if the server refuses it or has moved.
 * ```
 */
export type KubeConfigProvider = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>)

export interface Access {
  readonly server: URL
  /** Headers, certificates and keys. */
  readonly options: RequestOptions
  readonly proxy: Agent | undefined
  /** The proxy's URL without its password; undefined without a proxy. */
  readonly proxyUrl: string | undefined
  /** Identifies the server and the context. Another cluster may have another history. */
  readonly clusterId: string
  /** The number of renewals before these credentials. */
  readonly renewals: number
}

interface PendingAccess {
  readonly access: Promise<Access>
  readonly since: number
  isAbandoned: boolean
  isSettled: boolean
}

/** The part of a KubeConfig that a copy with the same clusters and users needs. */
interface Copyable extends KubeConfigLike {
  loadFromOptions(options: object): void
  addAuthenticator?(authenticator: unknown): void
}

const TLS_OPTIONS = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername', 'auth'] as const

/** A login that takes longer may never end, in milliseconds: another one is started then. */
const LOGIN_MS = 300_000

/** Credentials that can be renewed. A KubeConfig keeps a token until it expires, even if the server rejects it. */
export class Credentials {
  /** The context that was current when the source was created. A later change of the KubeConfig has no effect. */
  readonly context: string | undefined
  readonly #configProvider: KubeConfigProvider
  readonly #call: string
  #config: KubeConfigLike | undefined
  /** The KubeConfig that the function returned. `#config` may be a copy of it. */
  #original: KubeConfigLike | undefined
  /** The KubeConfigs whose credentials the server rejected. They may have cached the rejected token. */
  readonly #refused = new WeakSet<KubeConfigLike>()
  #renewals = 0
  /** A plugin runs once for all callers. A result that arrives when no caller waits is kept for the next one. */
  #pending: PendingAccess | undefined
  /** The cluster of the last access, and of the next one as far as is known. */
  clusterId: string | undefined

  constructor(configProvider: KubeConfigProvider, call = 'kubernetesSource') {
    this.#configProvider = configProvider
    this.#call = call
    this.context = typeof configProvider === 'function' ? undefined : configProvider.getCurrentContext() || undefined
  }

  /**
   * Returns the server and the credentials. Callers share an access in progress: no login is started twice within five
   * minutes. Rejects with `PROTOCOL` if the configuration names no cluster, and `UNAUTHORIZED` if it has no
   * credentials. Rejects with `UNAVAILABLE` if the function that returns the KubeConfig fails.
   */
  access(now: number): Promise<Access> {
    const known = this.#pending
    if (known !== undefined && now - known.since < LOGIN_MS) {
      if (known.isSettled) this.#pending = undefined
      return known.access
    }
    const pending: PendingAccess = { access: this.#access(), since: now, isAbandoned: false, isSettled: false }
    const end = (): void => {
      pending.isSettled = true
      if (this.#pending === pending && !pending.isAbandoned) this.#pending = undefined
    }
    pending.access.then(end, end)
    this.#pending = pending
    return pending.access
  }

  /** A caller has stopped waiting. The result is kept for the next caller. */
  abandon(access: Promise<Access>): void {
    if (this.#pending?.access === access) this.#pending.isAbandoned = true
  }

  /** The next access uses new credentials. No effect if they were renewed since the rejected ones. */
  renew(refused?: Access): void {
    if (refused !== undefined && refused.renewals !== this.#renewals) return
    this.#renewals++
    this.#pending = undefined
    if (typeof this.#configProvider !== 'function') {
      this.#config = copyOf(this.#configProvider, this.context) ?? this.#configProvider
      return
    }
    if (this.#original !== undefined) this.#refused.add(this.#original)
    this.#config = undefined
  }

  /**
   * A connection with this access failed, or the server forbids its user: the server, the CA, a certificate or the user
   * may have been replaced. The next access calls the function again, or reads the files of a proxied connection again.
   * Tokens that a plugin returned are kept: the server has not rejected them.
   */
  reload({ renewals, proxy }: Access): void {
    if (renewals !== this.#renewals) return
    const provider = this.#configProvider
    if (typeof provider === 'function') this.#config = undefined
    // client-node keeps the agent of a proxy, with the certificates of its first connection.
    else if (proxy !== undefined) this.#config = copyOf(provider, this.context, this.#config ?? provider)
    else return
    this.#renewals++
    this.#pending = undefined
  }

  async #access(): Promise<Access> {
    const renewals = this.#renewals
    const config = await this.#currentConfig()
    const cluster = config.getCurrentCluster()
    if (cluster === null || cluster === undefined) {
      // A function may return another KubeConfig later. An object that was never loaded stays empty.
      if (typeof this.#configProvider !== 'function' && !config.getCurrentContext())
        throw wrongConfig(
          this.#call,
          'has no context: load one (kubeConfig.loadFromDefault()) before the informer is started',
        )
      throw noCluster(config)
    }
    const server = serverOf(cluster)
    const clusterId = JSON.stringify([config.getCurrentContext(), cluster.server])
    this.clusterId = clusterId
    const applied = await optionsOf(config, server)
    const options: Record<string, unknown> = { headers: applied.headers ?? {} }
    for (const name of TLS_OPTIONS) if (applied[name] !== undefined) options[name] = applied[name]
    const isProxied = cluster.proxyUrl !== undefined && cluster.proxyUrl !== ''
    const proxy = isProxied && typeof applied.agent === 'object' ? applied.agent : undefined
    const proxyUrl = proxy === undefined || cluster.proxyUrl === undefined ? undefined : redact(cluster.proxyUrl)
    return { server, options, proxy, proxyUrl, clusterId: clusterId, renewals }
  }

  async #currentConfig(): Promise<KubeConfigLike> {
    for (;;) {
      if (this.#config !== undefined) return this.#pinned(this.#config)
      const renewals = this.#renewals
      const provided = await this.#provided()
      // A result from before a rejection may be the rejected one, and another caller may have been faster.
      if (renewals !== this.#renewals || this.#config !== undefined) continue
      this.#original = provided
      const isRefused = this.#refused.has(provided)
      this.#config = (isRefused ? copyOf(provided, provided.getCurrentContext()) : undefined) ?? provided
    }
  }

  #pinned(config: KubeConfigLike): KubeConfigLike {
    const now = config.getCurrentContext()
    if (this.context === undefined || now === this.context) return config
    const copy = copyOf(config, this.context)
    if (copy === undefined)
      throw configError(
        `the kubeConfig's context was "${this.context}" and is now "${now}": give each source a KubeConfig of its own`,
      )
    this.#config = copy
    return copy
  }

  async #provided(): Promise<KubeConfigLike> {
    if (typeof this.#configProvider !== 'function') return this.#configProvider
    let config: unknown
    try {
      config = await this.#configProvider()
    } catch (error) {
      const message = `kubeConfig() failed: ${redact(messageOf(error))}`
      throw new SourceError(message, { code: 'UNAVAILABLE', cause: redactError(error) })
    }
    if (isKubeConfig(config)) return config
    throw wrongConfig(this.#call, 'must return a KubeConfig of @kubernetes/client-node')
  }
}

export function isKubeConfig(value: unknown): value is KubeConfigLike {
  return hasMethods(value, 'applyToHTTPSOptions', 'getCurrentCluster', 'getCurrentContext')
}

/**
 * Returns a copy in this context, with the user's authenticators and the cached tokens of `tokens`. Undefined if it is
 * not a plain KubeConfig: a subclass or a replaced method may add credentials, which a copy would lose.
 */
function copyOf(
  config: KubeConfigLike,
  currentContext: string | undefined,
  tokens?: KubeConfigLike,
): KubeConfigLike | undefined {
  const KubeConfig = plainClassOf(config)
  if (KubeConfig === undefined) return undefined
  const { clusters, users, contexts, custom_authenticators: added } = propertiesOf(config)
  const copy = new KubeConfig()
  for (const authenticator of elementsOf(added)) copy.addAuthenticator?.(authenticator)
  copy.loadFromOptions({ clusters, users, contexts, currentContext })
  // The authenticators of plugins have the tokens.
  const { authenticators } = propertiesOf(tokens)
  return authenticators === undefined ? copy : Object.assign(copy, { authenticators })
}

/** Returns the class of all its methods; undefined if there are several, or the object has own methods. */
function plainClassOf(config: object): (new () => Copyable) | undefined {
  if (Object.values(config).some((value) => typeof value === 'function')) return undefined
  let plain = prototypeOf(config)
  // A subclass that adds only a constructor is treated as its base class.
  for (let base = prototypeOf(plain); prototypeOf(base) !== null; base = prototypeOf(base)) {
    if (Reflect.ownKeys(plain ?? {}).some((key) => key !== 'constructor')) return undefined
    plain = base
  }
  const KubeConfig = plain?.constructor
  return isCopyableClass(KubeConfig) ? KubeConfig : undefined
}

function isCopyableClass(value: unknown): value is new () => Copyable {
  return typeof value === 'function' && hasMethods(value.prototype, 'loadFromOptions')
}

function prototypeOf(value: object | null): object | null {
  return value === null ? null : Object.getPrototypeOf(value)
}

function serverOf({ server }: { readonly server: string }): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined
  // The KubeConfig decides whether plain HTTP is allowed, and looks for these letters.
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && server.startsWith('http:'))) return url
  throw configError(
    `the cluster's server "${redact(server)}" is not a URL of an API server: it has to look like https://host:6443`,
  )
}

async function optionsOf(config: KubeConfigLike, server: URL): Promise<RequestOptions> {
  const options: RequestOptions = {}
  try {
    await config.applyToHTTPSOptions(options)
    // A request behind a proxy would throw this error uncaught.
    for (const [name, value] of Object.entries(options.headers ?? {})) validateHeaderValue(name, String(value))
    if (server.protocol === 'https:') assertReadable(options)
  } catch (error) {
    const message = redact(messageOf(error))
    if (/HTTP protocol is not allowed/.test(message))
      throw configError(
        `the cluster's server ${redact(server.href)} has no TLS, and the kubeconfig does not allow that (was a kubeconfig found? If so: insecure-skip-tls-verify: true)`,
        redactError(error),
      )
    const hint = '(check the user of the current context: kubectl config view --minify)'
    throw new SourceError(`no credentials: ${message.trim()} ${hint}`, {
      code: 'UNAUTHORIZED',
      cause: redactError(error),
    })
  }
  return options
}

function assertReadable(options: RequestOptions): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new Error(`a certificate or its key cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

function noCluster(config: KubeConfigLike): SourceError {
  const context = config.getCurrentContext()
  const what = context ? `the context "${context}" of the kubeconfig has no cluster` : 'the kubeconfig has no context'
  return configError(`${what} (load one: kubeConfig.loadFromDefault(); choose one: kubectl config use-context <name>)`)
}

function wrongConfig(call: string, what: string): OptionError {
  return new OptionError(`${call}: option "kubeConfig" ${what}`, { option: 'kubeConfig' })
}

function configError(message: string, cause?: unknown): SourceError {
  return new SourceError(message, { code: 'PROTOCOL', cause })
}
