import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { FoundServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'

interface Side {
  readonly redis: RedisServer
  readonly client: Redis
}

/** A master and its replica, which take turns. Both write what they have to their disks. */
export class Pair implements AsyncDisposable {
  #master: Side
  #replica: Side
  /** Grows whenever something may have been lost: what was read before is of another history. */
  generation = 0

  private constructor(master: RedisServer, replica: RedisServer) {
    const side = (redis: RedisServer): Side => ({
      redis,
      client: redis.client({ maxRetriesPerRequest: null, retryStrategy: () => 50 }),
    })
    this.#master = side(master)
    this.#replica = side(replica)
  }

  static async start(server: FoundServer): Promise<Pair> {
    const master = await RedisServer.start({ server, isDurable: true })
    const pair = new Pair(master, await RedisServer.start({ server, isDurable: true }))
    await pair.#replicate()
    return pair
  }

  get master(): RedisServer {
    return this.#master.redis
  }

  get client(): Redis {
    return this.#master.client
  }

  /** The master dies, and the replica, which has all writes, replaces it. `moved` redirects all clients to it. */
  async failOver(moved: () => void): Promise<void> {
    await this.#linked()
    await this.client.multi().incr('mark').exec()
    await this.client.wait(1, 1_000)
    await this.#master.redis.kill()
    await this.#replica.client.replicaof('NO', 'ONE')
    this.#swap()
    moved()
    await this.#replica.redis.start()
    await this.#replicate()
  }

  /** The replica is cut off while `during` runs at the master. Then it replaces the master, and these writes are lost. */
  async failOverWithLoss(during: () => Promise<void>, moved: () => Promise<void>): Promise<void> {
    await this.#linked()
    await this.#replica.client.replicaof('NO', 'ONE')
    await during()
    await this.#master.redis.kill()
    this.#swap()
    await moved()
    await this.#replica.redis.start()
    await this.#replicate()
  }

  /** The two servers exchange their roles: a client of the former master is connected to a replica. */
  async changePlaces(moved: () => void, lateMs: number): Promise<void> {
    await this.#linked()
    await this.#replica.client.replicaof('NO', 'ONE')
    this.#swap()
    await this.#replica.client.replicaof('127.0.0.1', this.master.port)
    await sleep(lateMs)
    moved()
    await this.#linked()
  }

  /** The master is killed, and comes back without what it has written to its disk since. */
  async cutTail(during: () => Promise<void>): Promise<void> {
    await this.#linked()
    const bytes = await this.master.written()
    await during()
    await this.master.cutTo(bytes)
    this.generation++
    await this.master.start()
  }

  #swap(): void {
    const was = this.#master
    this.#master = this.#replica
    this.#replica = was
    this.generation++
  }

  async #replicate(): Promise<void> {
    await this.#replica.client.replicaof('127.0.0.1', this.master.port)
    await this.#linked()
  }

  /** The replica hears of all that is written, and neither rewrites what is on its disk. */
  async #linked(): Promise<void> {
    const isLinked = async (): Promise<boolean> => {
      const facts = await Promise.all([this.#replica.client.info(), this.client.info('persistence')])
      const isBusy = /aof_rewrite_(in_progress|scheduled):1|loading:1|sync_in_progress:1/.test(facts.join())
      return !isBusy && facts[0].includes('master_link_status:up')
    }
    await waitUntil('the replica to be linked', isLinked, 30_000)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { redis } of [this.#master, this.#replica]) await redis[Symbol.asyncDispose]()
  }
}
