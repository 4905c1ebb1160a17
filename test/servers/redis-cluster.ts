import { freePort } from '../../tools/postgres/free-port.js'
import type { FoundServer } from './locate.js'
import { RedisServer } from './redis.js'
import { started } from './server-process.js'
import { waitUntil } from './wait-until.js'

const SLOTS = 16_384
const START_TIMEOUT_MS = 30_000
const FAILOVER_MS = 6_000
const MAX_TRIES = 5

/** Three masters that share the slots, and nodes that are added to them. */
export class RedisCluster implements AsyncDisposable {
  readonly nodes: RedisServer[] = []
  readonly #ids: string[] = []
  readonly #server: FoundServer

  private constructor(server: FoundServer) {
    this.#server = server
  }

  static async start(server: FoundServer): Promise<RedisCluster> {
    const cluster = new RedisCluster(server)
    return await started(cluster, async () => {
      for (let at = 0; at < 3; at++) await cluster.#launch()
      for (const [at, node] of cluster.nodes.entries()) {
        const [from, to] = [at, at + 1].map((part) => Math.floor((part * SLOTS) / 3))
        await node.admin.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1))
      }
      await cluster.settled()
    })
  }

  /** Every node says that all slots are served, and knows all others. */
  async settled(): Promise<void> {
    for (const node of this.nodes) {
      const isWhole = async (): Promise<boolean> => {
        const facts = String(await node.admin.call('CLUSTER', 'INFO').catch(String))
        return facts.includes('cluster_state:ok') && facts.includes(`cluster_known_nodes:${this.nodes.length}`)
      }
      await waitUntil('the cluster to be whole', isWhole, START_TIMEOUT_MS)
    }
  }

  /** Adds a node that follows this one and takes over from it. Resolves with its number. */
  async addReplica(of: number): Promise<number> {
    const added = await this.#launch()
    await this.settled()
    const { client, id } = this.#at(of)
    await this.#at(added).client.call('CLUSTER', 'REPLICATE', id)
    await this.nodes[added]?.linked()
    await client.wait(1, 10_000)
    return added
  }

  /** The replica takes over from its master, which becomes its replica; nothing is lost. */
  async failover(replica: number): Promise<void> {
    const { client } = this.#at(replica)
    const isMaster = async (): Promise<boolean> => (await roleOf(client)) === 'master'
    for (let tries = 1; ; tries++) {
      // The server cancels it after 5 s if the others do not know the replica yet.
      await client.call('CLUSTER', 'FAILOVER')
      const error = await waitUntil('the replica to be master', isMaster, FAILOVER_MS).catch(String)
      if (error === undefined) return await this.agreed()
      if (tries === MAX_TRIES) throw new Error(error)
    }
  }

  /** Number of the node that serves this key. */
  async ownerOf(key: string): Promise<number> {
    const { client } = this.#at(0)
    const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key))
    const range = (await rangesOf(client)).find(({ from, to }) => from <= slot && slot <= to)
    if (range === undefined) throw new Error(`no node serves slot ${slot}`)
    return this.#ids.indexOf(range.owner)
  }

  /** Number of a node that serves something, and is not this one. */
  async another(than: number): Promise<number> {
    const ranges = await rangesOf(this.#at(0).client)
    const other = ranges.find(({ owner }) => owner !== this.#ids[than])
    if (other === undefined) throw new Error('there is no other')
    return this.#ids.indexOf(other.owner)
  }

  /** Waits until all nodes have the same slot map. */
  async agreed(): Promise<void> {
    const isAgreed = async (): Promise<boolean> => {
      const views = await Promise.all(this.nodes.map(async (node) => JSON.stringify(await rangesOf(node.admin))))
      return new Set(views).size === 1
    }
    await waitUntil('the nodes to agree', isAgreed, START_TIMEOUT_MS)
  }

  /** Moves the slot of a key to another node, key by key, as `redis-cli --cluster reshard` does; `between` runs when half of it is done. */
  async migrate(key: string, to: number, between?: () => Promise<void>): Promise<void> {
    const from = await this.ownerOf(key)
    const [source, target] = [this.#at(from), this.#at(to)]
    const slot = String(await source.client.call('CLUSTER', 'KEYSLOT', key))
    await target.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id)
    await source.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)
    const answer: unknown = await source.client.call('CLUSTER', 'GETKEYSINSLOT', slot, '10000')
    const keys = (Array.isArray(answer) ? answer.map(String) : []).sort()
    const half = Math.ceil(keys.length / 2)
    const move = async (some: readonly string[]): Promise<void> => {
      if (some.length === 0) return
      const port = String(this.nodes[to]?.port)
      await source.client.call('MIGRATE', '127.0.0.1', port, '', '0', '30000', 'KEYS', ...some)
    }
    await move(keys.slice(0, half))
    await between?.()
    await move(keys.slice(half))
    for (const at of [to, from, ...this.nodes.keys()]) {
      // A replica does not decide about slots, and says so.
      await this.#at(at)
        .client.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
        .catch(() => {})
    }
    await waitUntil('the slot to have moved', async () => (await this.ownerOf(key)) === to, START_TIMEOUT_MS)
    await this.agreed()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node[Symbol.asyncDispose]()
  }

  async #launch(): Promise<number> {
    const bus = await freePort()
    const args = ['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-node-timeout', '2000']
    const node = await RedisServer.start({ server: this.#server, args })
    const at = this.nodes.push(node) - 1
    this.#ids.push(String(await node.admin.call('CLUSTER', 'MYID')))
    // Only one that is alone takes a number; two that have the same one agree on nothing.
    await node.admin.call('CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1))
    if (at > 0) {
      // The one that is met is asked to know the other; each tells all others.
      await this.#at(0).client.call('CLUSTER', 'MEET', '127.0.0.1', String(node.port), String(bus))
    }
    return at
  }

  #at(index: number): { readonly client: ReturnType<RedisServer['client']>; readonly id: string } {
    const node = this.nodes[index]
    if (node === undefined) throw new Error(`there is no node ${index}`)
    return { client: node.admin, id: this.#ids[index] ?? '' }
  }
}

type Range = { readonly from: number; readonly to: number; readonly owner: string }

async function rangesOf(client: ReturnType<RedisServer['client']>): Promise<Range[]> {
  const rows: unknown = await client.call('CLUSTER', 'SLOTS')
  const ranges = (Array.isArray(rows) ? rows : []).map((row: unknown): Range => {
    const [from, to, node]: readonly unknown[] = Array.isArray(row) ? row : []
    return { from: Number(from), to: Number(to), owner: String(Array.isArray(node) ? node[2] : undefined) }
  })
  return ranges.sort((a, b) => a.from - b.from)
}

/** `master` or `slave`, as the server sees itself. */
export async function roleOf(client: ReturnType<RedisServer['client']>): Promise<string> {
  const answer: unknown = await client.call('ROLE')
  return String(Array.isArray(answer) ? answer[0] : answer)
}
