import { freePort } from '../../tools/postgres/free-port.js'
import { EtcdServer } from './etcd.js'
import type { FoundServer } from './locate.js'
import { PeerGate } from './peer-gate.js'

/** Three members, any of which can be cut off from the other two. */
export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdServer[]
  readonly #gates: readonly PeerGate[]
  #ids: readonly string[] = []
  #cut: number | undefined

  private constructor(members: readonly EtcdServer[], ports: readonly number[]) {
    this.members = members
    this.#gates = members.map(
      ({ peerPort }, at) =>
        new PeerGate({
          port: ports[at] ?? 0,
          target: peerPort,
          callerOf: (head) => /x-server-from: (\w+)/i.exec(head)?.[1] ?? '',
          isCut: (caller) => {
            if (this.#cut === undefined) return false
            return this.#cut === at || caller === '' || caller === this.#ids[this.#cut]
          },
        }),
    )
  }

  static async start(server: FoundServer): Promise<EtcdCluster> {
    const cluster = await EtcdCluster.#create(server)
    try {
      await cluster.#launch()
      return cluster
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  static async #create(server: FoundServer): Promise<EtcdCluster> {
    const ports = [await freePort(), await freePort(), await freePort()]
    const cluster = ports.map((port, at) => `m${at}=http://127.0.0.1:${port}`).join(',')
    const members: EtcdServer[] = []
    for (const [at, advertisedPeerPort] of ports.entries()) {
      const member = { name: `m${at}`, cluster, peerPort: await freePort(), advertisedPeerPort }
      members.push(await EtcdServer.create({ server, member }))
    }
    return new EtcdCluster(members, ports)
  }

  async #launch(): Promise<void> {
    for (const gate of this.#gates) await gate.listen()
    for (const member of this.members) await member.launch()
    for (const member of this.members) await member.ready()
    const statuses = await Promise.all(this.members.map((member) => member.client().maintenance.status()))
    this.#ids = statuses.map(({ header }) => BigInt(header.member_id).toString(16))
  }

  get endpoints(): string[] {
    return this.members.map(({ endpoint }) => endpoint)
  }

  /** Numbers of a member that leads, and of one that follows. */
  async roles(): Promise<{ readonly leader: number; readonly follower: number }> {
    for (const [at, member] of this.members.entries()) {
      const status = await member
        .client()
        .maintenance.status()
        .catch(() => undefined)
      if (status === undefined) continue
      const leader = this.#ids.indexOf(BigInt(status.leader).toString(16))
      if (leader >= 0) return { leader, follower: at === leader ? (at + 1) % 3 : at }
    }
    throw new Error('the cluster has no leader')
  }

  /** From now on this member hears nothing of the others, nor they of it. */
  cutOff(member: number): void {
    this.#cut = member
    for (const gate of this.#gates) gate.sweep()
  }

  join(): void {
    this.#cut = undefined
  }

  /** All members run, hear each other, and answer. */
  async mend(): Promise<void> {
    this.join()
    for (const member of this.members) {
      if (member.isRunning) member.signal('SIGCONT')
      else await member.launch()
    }
    for (const member of this.members) await member.ready()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.members) await member[Symbol.asyncDispose]()
    for (const gate of this.#gates) await gate[Symbol.asyncDispose]()
  }
}
