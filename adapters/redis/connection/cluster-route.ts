import { messageOf, OptionError } from '../../../src/contract/errors.js'
import { propertiesOf } from '../../common/properties.js'
import { isUnavailable, unavailable } from '../../common/source-errors.js'
import { type ClusterClient, type HostAndPort, isCluster, type RedisClient, type SingleClient } from './client.js'
import { slotOf } from './hash-slot.js'
import { Session, type SessionOptions } from './session.js'

const POLL_MS = 25

interface Login {
  readonly username?: string
  readonly password?: string
}

/**
 * Opens sessions to the server that has a key. Only the slot map and the node options of a Cluster are used. Its own
 * connections queue and resend commands. They follow a slot to another master during a scan, which then misses keys.
 */
export class ClusterRoute {
  readonly #client: RedisClient
  readonly #key: string
  #moved: string | undefined

  constructor(client: RedisClient, key: string) {
    this.#client = client
    this.#key = key
  }

  async open(options: SessionOptions): Promise<Session> {
    const client = this.#client
    if (!isCluster(client)) return await Session.open(client, options)
    const [node, target] = await this.#master(client, options)
    // A master that does not respond may have been replaced: the next attempt uses a new slot map.
    return await Session.open(node, options, target).catch((error: unknown) => {
      this.noteFailure(error)
      throw error
    })
  }

  /** Called with the error of a session. The next session goes to the current server of the key. */
  noteFailure(error: unknown): void {
    if (!isCluster(this.#client)) return
    const [, address] = /^MOVED \d+ (\S+:\d+)/.exec(messageOf(error)) ?? []
    if (address !== undefined) this.#moved = address
    else if (isUnavailable(error)) this.#forget(this.#client)
  }

  #forget(cluster: ClusterClient): void {
    this.#moved = undefined
    cluster.refreshSlotsCache(() => {})
  }

  async #master(
    cluster: ClusterClient,
    options: SessionOptions,
  ): Promise<readonly [SingleClient, HostAndPort & Login]> {
    if (cluster.status === 'wait') cluster.connect().catch(() => {}) // The Cluster reports errors with its own events.
    const slot = slotOf(this.#key)
    for (let leftMs = options.timeoutMs; leftMs > 0; leftMs -= POLL_MS) {
      const address = this.#moved ?? cluster.slots[slot]?.[0]
      const target = address === undefined ? undefined : mappedAddress(cluster, address)
      const nodes = cluster.nodes('all')
      const node = nodes.find((each) => isAt(each, target)) ?? nodes[0]
      if (node !== undefined && target !== undefined) return [node, { ...target, ...loginOf(cluster) }]
      if (cluster.status === 'end') throw closed()
      await options.clock.sleep(POLL_MS, options.signal)
    }
    throw unavailable(`the Cluster is ${cluster.status} and has no master for slot ${slot}: check its startup nodes`)
  }
}

function closed(): OptionError {
  return new OptionError(
    'option "client": the Cluster was closed; keep it open as long as sources and writers use it',
    {
      option: 'client',
    },
  )
}

/** A node has the password of the time at which it was found. A startup node may have its own one. */
function loginOf({ options: { redisOptions }, startupNodes }: ClusterClient): Login {
  const hasOwn = (node: unknown): boolean => String(node).includes('@') || propertiesOf(node)['password'] !== undefined
  if (redisOptions?.password === undefined || startupNodes.some(hasOwn)) return {}
  const { username, password } = redisOptions
  return username === undefined ? { password } : { username, password }
}

function isAt({ options: { host, port } }: SingleClient, target: HostAndPort | undefined): boolean {
  return host === target?.host && port === target?.port
}

/** The reachable address of a node that announces `host:port`. A host may be an IPv6 address. */
function mappedAddress({ options }: ClusterClient, address: string): HostAndPort {
  const { natMap } = options
  const mapped = typeof natMap === 'function' ? natMap(address) : natMap?.[address]
  if (mapped) return { host: mapped.host, port: mapped.port }
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}
