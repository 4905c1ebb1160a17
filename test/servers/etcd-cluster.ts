import { freePort } from '../../tools/postgres/free-port.js'
import { EtcdServer } from './etcd.js'
import { GatedCluster } from './gated-cluster.js'
import type { FoundServer } from './locate.js'
import { started } from './server-process.js'

/** Three members, any of which can be cut off from the other two. */
export class EtcdCluster extends GatedCluster<EtcdServer> {
  #ids: readonly string[] = []

  static async start(server: FoundServer): Promise<EtcdCluster> {
    const ports = [await freePort(), await freePort(), await freePort()]
    const cluster = ports.map((port, at) => `m${at}=http://127.0.0.1:${port}`).join(',')
    const members: EtcdServer[] = []
    for (const [at, advertisedPeerPort] of ports.entries()) {
      const member = { name: `m${at}`, cluster, peerPort: await freePort(), advertisedPeerPort }
      members.push(await EtcdServer.create({ server, member }))
    }
    const own = members.map(({ peerPort }, at) => ({ gate: ports[at] ?? 0, own: peerPort }))
    const callerOf = (head: string): string => /x-server-from: (\w+)/i.exec(head)?.[1] ?? ''
    return await started(new EtcdCluster(members, own, callerOf), (made) => made.start())
  }

  override async start(): Promise<void> {
    await super.start()
    const statuses = await Promise.all(this.members.map((member) => member.client().maintenance.status()))
    this.#ids = statuses.map(({ header }) => BigInt(header.member_id).toString(16))
  }

  protected override mayBe(caller: string, member: number): boolean {
    return caller === '' || caller === this.#ids[member]
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
}
