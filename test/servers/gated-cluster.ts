import { PeerGate } from './peer-gate.js'
import type { ServerProcess } from './server-process.js'

type Member = ServerProcess & { launch(): Promise<void>; ready(): Promise<void> }

/** The ports of a member: the one at which its peers reach it, and its own. */
export type MemberPorts = { readonly gate: number; readonly own: number }

/** Members, any of which can be cut off from the others. `callerOf` is that of `PeerGate`. */
export abstract class GatedCluster<M extends Member> implements AsyncDisposable {
  readonly members: readonly M[]
  protected cut: number | undefined
  readonly #gates: readonly PeerGate[]

  protected constructor(
    members: readonly M[],
    ports: readonly MemberPorts[],
    callerOf: (head: string) => string | undefined,
  ) {
    this.members = members
    this.#gates = ports.map(({ gate: port, own: target }, at) => {
      const isCut = (caller: string): boolean =>
        this.cut !== undefined && (this.cut === at || this.mayBe(caller, this.cut))
      return new PeerGate({ port, target, callerOf, isCut })
    })
  }

  protected abstract mayBe(caller: string, member: number): boolean

  async start(): Promise<void> {
    for (const gate of this.#gates) await gate.listen()
    for (const member of this.members) await member.launch()
    await this.ready()
  }

  /** Waits until every member responds. */
  async ready(): Promise<void> {
    for (const member of this.members) await member.ready()
  }

  /** From now on this member receives nothing from the others, nor they from it. */
  cutOff(member: number): void {
    this.cut = member
    for (const gate of this.#gates) gate.sweep()
  }

  join(): void {
    this.cut = undefined
  }

  /** All members run, are connected and respond. */
  async mend(): Promise<void> {
    this.join()
    for (const member of this.members) {
      if (member.isRunning) member.signal('SIGCONT')
      else await member.launch()
    }
    await this.ready()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of [...this.members, ...this.#gates]) await each[Symbol.asyncDispose]()
  }
}
