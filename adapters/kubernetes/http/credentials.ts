import { type Agent, validateHeaderValue } from 'node:http'
import type { RequestOptions } from 'node:https'
import { createSecureContext } from 'node:tls'
import { messageOf, OptionError, SourceError } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'

/** The part of `KubeConfig` of @kubernetes/client-node that is used. It stays yours, and is asked for every connection. */
export interface KubeConfigLike {
  getCurrentContext(): string
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string | undefined } | null
  applyToHTTPSOptions(options: RequestOptions): Promise<void>
}

/** A KubeConfig, or what makes one: then it is called again where the server refuses the credentials. */
export type KubeConfigProvider = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>)

/** Where to connect, and as whom. */
export interface Access {
  readonly server: URL
  /** Headers, certificates and keys. */
  readonly options: RequestOptions
  /** Of the proxy that the cluster is behind. */
  readonly proxy: Agent | undefined
  /** Its address, without a password; undefined without a proxy. */
  readonly proxyUrl: string | undefined
  /** Which server that is, by which context; another one may have another history. */
  readonly clusterId: string
  /** How often credentials had been renewed before these. */
  readonly renewals: number
}

interface PendingAccess {
  readonly access: Promise<Access>
  readonly since: number
  isAbandoned: boolean
  isSettled: boolean
}

/** What a KubeConfig with copies of another's clusters and users can be made of. */
interface Copyable extends KubeConfigLike {
  readonly clusters: unknown
  readonly users: unknown
  readonly contexts: unknown
  loadFromOptions(options: object): void
  addAuthenticator?(authenticator: unknown): void
}

const TLS_OPTIONS = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername', 'auth'] as const

/** What takes longer may never end: then it is begun once more, in milliseconds. */
const LOGIN_MS = 300_000

/** Credentials that can be renewed: a KubeConfig keeps tokens until they expire, whatever the server says of them. */
export class Credentials {
  /** The context of a KubeConfig when it was provided: to choose another later changes nothing here. */
  readonly context: string | undefined
  readonly #configProvider: KubeConfigProvider
  #config: KubeConfigLike | undefined
  /** What the function gave, of which `#config` may be a copy. */
  #original: KubeConfigLike | undefined
  /** What the function gave, and the server refused: it may remember what was refused. */
  readonly #refused = new WeakSet<KubeConfigLike>()
  #renewals = 0
  /** What is on its way: a plugin runs once for all who wait for it. Also what came when nobody waited any more, until somebody asks. */
  #pending: PendingAccess | undefined
  #clusterId: string | undefined

  constructor(configProvider: KubeConfigProvider) {
    this.#configProvider = configProvider
    this.context = typeof configProvider === 'function' ? undefined : configProvider.getCurrentContext() || undefined
  }

  /** Where the last access led to, and the next one will, as far as is known. */
  get clusterId(): string | undefined {
    return this.#clusterId
  }

  /**
   * Rejects as `PROTOCOL` where the configuration names no cluster, as `UNAUTHORIZED` where it gives no credentials, as `UNAVAILABLE` where the
   * function that gives it fails. Who asks while others wait, or after they gave up, gets what they get: nothing is begun twice within five minutes.
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

  /** Somebody does not wait for that one any longer; it may be good for who asks next. */
  abandon(access: Promise<Access>): void {
    if (this.#pending?.access === access) this.#pending.isAbandoned = true
  }

  /** The next access is with new credentials, where they can be had. Not where that has happened since those that were refused. */
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

  async #access(): Promise<Access> {
    const renewals = this.#renewals
    const config = await this.#currentConfig()
    const cluster = config.getCurrentCluster()
    if (cluster === null || cluster === undefined) {
      // A function may return another one later; an object that was never loaded stays empty.
      if (typeof this.#configProvider !== 'function' && !config.getCurrentContext())
        throw wrongConfig('has no context: load one (kubeConfig.loadFromDefault()) before the informer is started')
      throw noCluster(config)
    }
    const server = serverOf(cluster)
    const clusterId = JSON.stringify([config.getCurrentContext(), cluster.server])
    this.#clusterId = clusterId
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
      // What was on its way when credentials were refused may be what was refused; and others may have been quicker.
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
        `the kubeConfig's context was "${this.context}", and has become "${now}": give each source its own`,
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
    throw wrongConfig('must return a KubeConfig of @kubernetes/client-node')
  }
}

export function isKubeConfig(value: unknown): value is KubeConfigLike {
  const { applyToHTTPSOptions, getCurrentCluster, getCurrentContext } = Object(value) as Partial<KubeConfigLike>
  return [applyToHTTPSOptions, getCurrentCluster, getCurrentContext].every((each) => typeof each === 'function')
}

/**
 * The same in this context without what it remembers, but for authenticators of the user; undefined where it is more than client-node's own:
 * nobody knows what a subclass or a method that was replaced adds to the credentials, and a copy would be without it.
 */
function copyOf(config: KubeConfigLike, currentContext: string | undefined): KubeConfigLike | undefined {
  const KubeConfig = plainClassOf(config)
  if (KubeConfig === undefined) return undefined
  const { clusters, users, contexts } = config as Partial<Copyable>
  const { custom_authenticators: added = [] } = config as { readonly custom_authenticators?: readonly unknown[] }
  const copy = new KubeConfig()
  for (const authenticator of added) copy.addAuthenticator?.(authenticator)
  copy.loadFromOptions({ clusters, users, contexts, currentContext })
  return copy
}

/** The class that all its methods are of; undefined where there are several, or it has methods of its own. */
function plainClassOf(config: object): (new () => Copyable) | undefined {
  if (Object.values(config).some((value) => typeof value === 'function')) return undefined
  let plain = prototypeOf(config)
  // A subclass that adds nothing but a constructor is none.
  for (let base = prototypeOf(plain); prototypeOf(base) !== null; base = prototypeOf(base)) {
    if (Reflect.ownKeys(plain ?? {}).some((key) => key !== 'constructor')) return undefined
    plain = base
  }
  const methods = Object(plain) as Partial<Copyable>
  return typeof methods.loadFromOptions === 'function' ? (methods.constructor as new () => Copyable) : undefined
}

function prototypeOf(value: object | null): object | null {
  return value === null ? null : (Object.getPrototypeOf(value) as object | null)
}

function serverOf({ server }: { readonly server: string }): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined
  // Whether plain HTTP is allowed is for the KubeConfig to say, which looks for these letters.
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && server.startsWith('http:'))) return url
  throw configError(
    `the cluster's server "${redact(server)}" is no URL of an API server: it has to look like https://host:6443`,
  )
}

async function optionsOf(config: KubeConfigLike, server: URL): Promise<RequestOptions> {
  const options: RequestOptions = {}
  try {
    await config.applyToHTTPSOptions(options)
    // What a request would throw, behind a proxy where nobody catches it.
    for (const [name, value] of Object.entries(options.headers ?? {})) validateHeaderValue(name, String(value))
    if (server.protocol === 'https:') assertReadable(options)
  } catch (error) {
    const message = redact(messageOf(error))
    if (/HTTP protocol is not allowed/.test(message))
      throw configError(
        `the cluster's server ${redact(server.href)} has no TLS, and nothing says that it may (was a kubeconfig found? If so: insecure-skip-tls-verify: true)`,
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

/** Certificates and keys. */
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

function wrongConfig(what: string): OptionError {
  return new OptionError(`kubernetesSource: option "kubeConfig" ${what}`, { option: 'kubeConfig' })
}

function configError(message: string, cause?: unknown): SourceError {
  return new SourceError(message, { code: 'PROTOCOL', cause })
}
