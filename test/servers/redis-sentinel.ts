import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import type { FoundServer } from './locate.js'
import { RedisServer } from './redis.js'
import { started } from './server-process.js'
import { waitUntil } from './wait-until.js'

/** What the sentinel calls the group. */
export const GROUP = 'mirrored'
const FAILOVER_TIMEOUT_MS = 40_000
/**
 * A sentinel pings a server once a second. With a limit of one second, it may find a new master down before the first
 * reply, and fail over again.
 */
const DOWN_AFTER_MS = 2_000

/** A master, a replica, and a sentinel that makes the replica master when the master is gone. */
export class RedisSentinel implements AsyncDisposable {
  readonly first: RedisServer
  readonly second: RedisServer
  readonly sentinel: RedisServer
  readonly #clients = new Set<Redis>()

  private constructor(first: RedisServer, second: RedisServer, sentinel: RedisServer) {
    this.first = first
    this.second = second
    this.sentinel = sentinel
  }

  static async start(server: FoundServer): Promise<RedisSentinel> {
    const first = await RedisServer.start({ server })
    const second = await RedisServer.start({ server })
    const sentinel = await RedisServer.create({ server })
    const all = new RedisSentinel(first, second, sentinel)
    return await started(all, async () => {
      await second.follow(first)
      const configuration = join(sentinel.folder, 'sentinel.conf')
      const lines = [
        `port ${sentinel.port}`,
        'bind 127.0.0.1',
        `sentinel monitor ${GROUP} 127.0.0.1 ${first.port} 1`,
        `sentinel down-after-milliseconds ${GROUP} ${DOWN_AFTER_MS}`,
        `sentinel failover-timeout ${GROUP} 3000`,
      ]
      await writeFile(configuration, `${lines.join('\n')}\n`)
      await sentinel.run([configuration, '--sentinel'])
      const knowsReplica = async (): Promise<boolean> => {
        const rows: unknown = await sentinel.admin.call('SENTINEL', 'REPLICAS', GROUP)
        return Array.isArray(rows) && rows.length === 1
      }
      await waitUntil('the sentinel to know the replica', knowsReplica, FAILOVER_TIMEOUT_MS)
    })
  }

  /** A client that asks the sentinel who is master; closed at the end. */
  client(options: RedisOptions = {}): Redis {
    const sentinels = [{ host: '127.0.0.1', port: this.sentinel.port }]
    const client = new Redis({ ...options, sentinels, name: GROUP, replyMapping: 'legacy' })
    client.on('error', () => {})
    this.#clients.add(client)
    return client
  }

  /** The master in the view of the sentinel. */
  async master(): Promise<RedisServer> {
    const answer: unknown = await this.sentinel.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', GROUP)
    const port = Number(Array.isArray(answer) ? answer[1] : undefined)
    return port === this.first.port ? this.first : this.second
  }

  /** Returns how many failovers the sentinel has begun up to the last one that succeeded. */
  async failovers(): Promise<number> {
    const fields: unknown = await this.sentinel.admin.call('SENTINEL', 'MASTER', GROUP)
    return Array.isArray(fields) ? Number(fields[fields.indexOf('config-epoch') + 1]) : 0
  }

  /** Waits until the sentinel has made the replica master. */
  async hasFailedOver(): Promise<void> {
    const isMaster = async (): Promise<boolean> => {
      if ((await this.master()) !== this.second) return false
      const role: unknown = await this.second.admin.call('ROLE')
      return Array.isArray(role) && role[0] === 'master'
    }
    await waitUntil('the replica to be master', isMaster, FAILOVER_TIMEOUT_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.disconnect()
    for (const server of [this.sentinel, this.second, this.first]) await server[Symbol.asyncDispose]()
  }
}
