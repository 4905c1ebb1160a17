import { messageOf, OptionError, SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../shared/source-errors.js'
import { asCluster, type ClusterClient, type RedisClient, type SingleClient } from './client.js'
import { slotOf } from './hash-slot.js'
import { Session, type SessionOptions } from './session.js'

interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** Where the nodes of a cluster are seen from here, by the `host:port` that they give themselves. */
type NatMap = Readonly<Record<string, HostAndPort>> | ((address: string) => HostAndPort | null | undefined)

/** How often a Cluster that is not ready yet is looked at, in milliseconds. */
const LOOK_MS = 25

/**
 * The way to the server that has a key. Of a Cluster only its map of slots and its nodes' options are used: its own
 * connections queue and send again, and follow a slot to another master in the middle of a scan, which then misses a part.
 */
export class ClusterRoute {
  readonly #client: RedisClient
  readonly #key: string
  /** Where MOVED said that it is. */
  #moved: string | undefined

  constructor(client: RedisClient, key: string) {
    this.#client = client
    this.#key = key
  }

  /** A connection of our own to the server that has the key. */
  async open(options: SessionOptions): Promise<Session> {
    const cluster = asCluster(this.#client)
    if (cluster === undefined) return await Session.open(this.#client, options)
    const [node, where] = await this.#master(cluster, options)
    // A master that does not answer may have been replaced; who asked comes again.
    return await Session.open(node, options, where).catch((error: unknown) => {
      this.noteFailure(error)
      throw error
    })
  }

  /** Takes note of why it went wrong. Who asks again is led to where the key is then. */
  noteFailure(error: unknown): void {
    const cluster = asCluster(this.#client)
    if (cluster === undefined) return
    const [, address] = /^MOVED \d+ (\S+:\d+)/.exec(messageOf(error)) ?? []
    if (address !== undefined) this.#moved = address
    else if (error instanceof SourceError && error.code === 'UNAVAILABLE') this.#forget(cluster)
  }

  #forget(cluster: ClusterClient): void {
    this.#moved = undefined
    cluster.refreshSlotsCache(() => {})
  }

  async #master(cluster: ClusterClient, options: SessionOptions): Promise<readonly [SingleClient, HostAndPort]> {
    if (cluster.status === 'wait') cluster.connect().catch(() => {}) // It says so by its own events.
    const slot = slotOf(this.#key)
    for (let leftMs = options.timeoutMs; leftMs > 0; leftMs -= LOOK_MS) {
      const address = this.#moved ?? cluster.slots[slot]?.[0]
      const where = address === undefined ? undefined : mappedAddress(cluster, address)
      const nodes = cluster.nodes('all')
      const node = nodes.find((each) => isAt(each, where)) ?? nodes[0]
      if (node !== undefined && where !== undefined) return [node, where]
      if (cluster.status === 'end') throw closed()
      await options.clock.sleep(LOOK_MS, options.signal)
    }
    throw unavailable(`the Cluster is ${cluster.status} and knows no master of slot ${slot}: check its startup nodes`)
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

function isAt({ options: { host, port } }: SingleClient, where: HostAndPort | undefined): boolean {
  return host === where?.host && port === where?.port
}

/** Of what a node says `host:port`; a host may be an IPv6 address. */
function mappedAddress({ options }: ClusterClient, address: string): HostAndPort {
  const { natMap } = options as { readonly natMap?: NatMap | null }
  const mapped = typeof natMap === 'function' ? natMap(address) : natMap?.[address]
  if (mapped) return { host: mapped.host, port: mapped.port }
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}
