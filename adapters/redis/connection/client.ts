import { OptionError } from '../../../src/contract/errors.js'
import { hasMethods, isRecord, propertiesOf } from '../../common/properties.js'

/**
 * A `Redis` (of a single server, or of Sentinels) or a `Cluster` of ioredis 5.11 or 6. Sources and writers open their
 * own connections with the same options. They send nothing over the client, and never close it.
 *
 * @example
 * ```ts
 * import { Cluster, Redis } from 'ioredis'
 *
 * const single = new Redis(url, { lazyConnect: true }) // It need not be connected: only its options are used.
 * const cluster = new Cluster([{ host: 'redis-0', port: 6379 }], { lazyConnect: true })
 * const sources = [single, cluster].map((client) => redisCollectionSource<Limit>({ client, collection: 'limits' }))
 * ```
 */
export interface RedisClient {
  /** The options of the client. */
  readonly options: object
  /** Creates a client with the same options. */
  duplicate(override?: object): unknown
  /** Sends a command. It is not used, and only identifies a client. */
  call(command: string, ...args: string[]): Promise<unknown>
}

export type RedisArgument = string | number | Buffer

/** A reply of the server. It is an Error only inside the reply of a transaction. */
export type RedisReply = Buffer | string | number | null | Error | readonly RedisReply[]

export function repliesIn(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? reply : []
}

export function bytesIn(replies: readonly RedisReply[]): number {
  let bytes = 0
  for (const reply of replies) if (Buffer.isBuffer(reply)) bytes += reply.length
  return bytes
}

/** The driver links its replies, so the garbage collector copies what they contain until a full collection. */
export function emptyReply(reply: RedisReply | undefined): void {
  if (Array.isArray(reply)) reply.length = 0
}

/** A connection of a session: a duplicate of the user's `Redis`. */
export interface RedisConnection {
  readonly options: { readonly host?: string; readonly port?: number; readonly path?: string | null }
  connect(): Promise<unknown>
  disconnect(): void
  callBuffer(command: string, ...args: readonly RedisArgument[]): Promise<RedisReply>
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  on(event: 'messageBuffer', listener: (channel: Buffer, message: RedisReply) => void): unknown
  readonly stream?: {
    destroy(): unknown
    on(event: 'data', listener: () => void): unknown
    cork?(): unknown
    uncork?(): unknown
  }
}

/** The used parts of a `Redis` of ioredis. A duplicate has the same credentials, TLS options and Sentinels. */
export interface SingleClient {
  readonly options: { readonly host?: string; readonly port?: number; readonly keyPrefix?: string }
  duplicate(override: object): unknown
}

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** The reachable addresses of cluster nodes, by the `host:port` that the nodes announce. */
type NatMap = Readonly<Record<string, HostAndPort>> | ((address: string) => HostAndPort | null | undefined)

/** The used parts of a `Cluster` of ioredis: its map of slots. */
export interface ClusterClient {
  readonly isCluster: true
  readonly options: {
    readonly keyPrefix?: string
    readonly natMap?: NatMap | null
    readonly redisOptions?: { readonly username?: string; readonly password?: string }
  }
  /** As the user named them: `{ host, port }`, an address or a port. */
  readonly startupNodes: readonly unknown[]
  readonly status: string
  /** The nodes of each slot, the master first, as `host:port`. */
  readonly slots: readonly (readonly string[] | undefined)[]
  nodes(role: 'all'): readonly SingleClient[]
  connect(): Promise<unknown>
  refreshSlotsCache(done: () => void): void
}

export function assertGiven<O extends object>(
  call: string,
  options: O | undefined,
  names: readonly (keyof O & string)[],
): void {
  for (const option of names) {
    if (options?.[option] !== undefined) continue
    const hint = option === 'client' ? '; for example new Redis(url) of ioredis' : ''
    throw new OptionError(`${call}: option "${option}" is missing${hint}`, { option })
  }
}

export function clientFlaw(value: unknown): string | undefined {
  const isClient = isRecord(propertiesOf(value)['options']) && hasMethods(value, 'duplicate', 'callBuffer')
  return isClient ? undefined : 'must be a Redis or Cluster of ioredis 5.11 or 6, such as new Redis(url)'
}

export function isCluster(client: object): client is ClusterClient {
  return propertiesOf(client)['isCluster'] === true
}

export function keyPrefixOf(client: RedisClient): string {
  const { keyPrefix } = propertiesOf(client.options)
  return typeof keyPrefix === 'string' ? keyPrefix : ''
}
