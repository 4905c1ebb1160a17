import type { NatsConnection } from '@nats-io/transport-node'
import { freePort } from '../../tools/postgres/free-port.js'
import { GatedCluster, type MemberPorts } from './gated-cluster.js'
import type { FoundServer } from './locate.js'
import { NatsServer } from './nats.js'
import { started } from './server-process.js'
import { waitUntil } from './wait-until.js'

/** How long elections and the first start may take on a busy machine. */
const ELECTION_MS = 60_000
const PROBE = 'probe'

/** Three servers with replicated JetStream, any of which can be cut off from the other two. */
export class NatsCluster extends GatedCluster<NatsServer> {
  static async start(server: FoundServer, config = ''): Promise<NatsCluster> {
    const ports: MemberPorts[] = []
    for (let at = 0; at < 3; at++) ports.push({ gate: await freePort(), own: await freePort() })
    const members: NatsServer[] = []
    for (const [at, { gate, own }] of ports.entries()) {
      const routes = ports.flatMap((each, other) => (other === at ? [] : [each.gate]))
      const member = { name: `m${at}`, port: own, advertisedPort: gate, routes }
      members.push(await NatsServer.create({ server, config, member }))
    }
    const callerOf = (head: string): string | undefined => /"server_name":"(\w+)"/.exec(head)?.[1]
    return await started(new NatsCluster(members, ports, callerOf), (made) => made.start())
  }

  override async start(): Promise<void> {
    await super.start()
    await this.#hasPeers()
  }

  protected override mayBe(caller: string, member: number): boolean {
    return caller === `m${member}`
  }

  /** Waits until a stream can have three replicas. The leader may know fewer members at first, and refuses it then. */
  async #hasPeers(): Promise<void> {
    const [first] = this.members
    const config = { name: PROBE, subjects: [PROBE], num_replicas: 3, storage: 'memory' }
    const isCreated = async (): Promise<boolean> => {
      const reply = await first?.ask<{ error?: object }>(`STREAM.CREATE.${PROBE}`, config).catch(() => undefined)
      return reply !== undefined && reply.error === undefined
    }
    await waitUntil('three members that can have replicas', isCreated, ELECTION_MS)
    await first?.ask(`STREAM.DELETE.${PROBE}`)
  }

  /** Waits until every member responds, and reaches a leader of the cluster. */
  override async ready(): Promise<void> {
    await super.ready()
    for (const member of this.members) await waitUntil('a leader', () => hasLeader(member), ELECTION_MS)
  }

  get ports(): number[] {
    return this.members.map(({ port }) => port)
  }

  /** A connection that reaches these members, in this order. Default: all. */
  connect(order: readonly number[] = [0, 1, 2]): Promise<NatsConnection> {
    const servers = order.map((at) => `127.0.0.1:${this.members[at]?.port}`)
    const [first] = order
    const member = this.members[first ?? 0]
    if (member === undefined) throw new Error('no such member')
    return member.connect({ servers, noRandomize: true, ignoreClusterUpdates: true })
  }

  async leaderOf(stream: string, askAt?: number): Promise<number> {
    let leader = -1
    const isKnown = async (): Promise<boolean> => {
      for (const at of askAt === undefined ? this.members.keys() : [askAt]) {
        const member = this.members[at]
        if (member?.isRunning !== true) continue
        const info = await member.ask<StreamInfo>(`STREAM.INFO.${stream}`).catch(() => undefined)
        const name = info?.cluster?.leader
        const isFollowed = info?.cluster?.replicas?.some(
          ({ active, offline }) => offline !== true && active > 0 && active < 2e9,
        )
        if (name !== undefined && isFollowed === true) leader = this.members.findIndex((_, each) => `m${each}` === name)
        // A reply of the old leader may arrive right after it was cut off.
        if (leader >= 0 && leader !== this.cut) return true
      }
      return false
    }
    await waitUntil(`a leader of ${stream}`, isKnown, ELECTION_MS)
    return leader
  }

  async stepDown(stream: string): Promise<void> {
    const [first] = this.members
    await first?.ask(`STREAM.LEADER.STEPDOWN.${stream}`)
  }
}

interface StreamInfo {
  readonly cluster?: {
    readonly leader?: string
    readonly replicas?: readonly { readonly active: number; readonly offline?: boolean }[]
  }
}

/** The leader of the cluster responds to this request, from whichever member it comes. */
async function hasLeader(member: NatsServer): Promise<boolean> {
  const names = await member.ask<{ total?: number }>('STREAM.NAMES').catch(() => undefined)
  return names?.total !== undefined
}
