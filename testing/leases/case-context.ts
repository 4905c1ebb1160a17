import type { Eviction, LeaseSession, Leases, LeaseView } from '../../src/contract/leases.js'
import { systemRandom } from '../../src/contract/random.js'
import { ContractViolation, check, withTimeout } from '../conformance/run/assertions.js'
import type { LeasesHarness } from './harness.js'

export interface Published {
  readonly members?: readonly string[]
  readonly holds?: readonly string[]
  readonly mode?: 'share' | 'leader'
  readonly leaseMs?: number
}

export interface RenewOptions extends Published {
  readonly evict?: readonly Eviction[]
  readonly signal?: AbortSignal
}

export class TestMember {
  readonly name: string
  readonly session: LeaseSession
  readonly #timeoutMs: number

  constructor(name: string, session: LeaseSession, timeoutMs: number) {
    this.name = name
    this.session = session
    this.#timeoutMs = timeoutMs
  }

  async renew(
    renewal: number,
    { members = [], holds = [], evict = [], signal = new AbortController().signal, ...terms }: RenewOptions = {},
  ): Promise<LeaseView> {
    const record = { member: this.name, renewal, members, holds, ...terms }
    const view = await withTimeout(
      this.#timeoutMs,
      `renewal ${renewal} of ${this.name}`,
      this.session.renew(record, evict, signal),
    )
    check(Number.isSafeInteger(view.fence), `the fence ${view.fence} is not a safe integer`)
    check(typeof view.epoch === 'string', 'the epoch is not a string')
    for (const { ageMs, member } of view.records)
      check(ageMs >= 0 && Number.isFinite(ageMs), `the record of ${member} has ageMs ${ageMs}`)
    return view
  }

  /** Throws unless the renewal is refused with LEASE_LOST. */
  async refused(what: string, renewal: number, options: RenewOptions = {}): Promise<void> {
    const outcome = await this.renew(renewal, options).then(
      () => 'it was accepted',
      (error: unknown) => {
        if (error instanceof ContractViolation) throw error
        return Object(error).code === 'LEASE_LOST' ? undefined : `it threw ${String(error)}`
      },
    )
    check(outcome === undefined, `${what} must throw a LeaseLostError, but ${outcome}`)
  }
}

export class LeasesContext implements AsyncDisposable {
  readonly timeoutMs: number
  readonly #harness: LeasesHarness
  readonly #sessions: LeaseSession[] = []
  readonly #group: string

  constructor(harness: LeasesHarness) {
    this.#harness = harness
    this.timeoutMs = harness.timeoutMs ?? 10_000
    this.#group = `group-${randomName()}`
  }

  async leases(group = ''): Promise<Leases> {
    return await this.#harness.create(this.#group + group)
  }

  /** A new member, which has not sent anything. */
  async member(leases?: Leases): Promise<TestMember> {
    const session = (leases ?? (await this.leases())).open()
    this.#sessions.push(session)
    return new TestMember(randomName(), session, this.timeoutMs)
  }

  /** A new member with a record of renewal 0. */
  async joined(leases?: Leases): Promise<TestMember> {
    const member = await this.member(leases)
    await member.renew(0)
    return member
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#sessions.map((session) => session.close()))
  }
}

export function recordOf(view: LeaseView, member: TestMember): LeaseView['records'][number] | undefined {
  return view.records.find((record) => record.member === member.name)
}

export function namesIn(view: LeaseView): string {
  return view.records
    .map(({ member }) => member)
    .sort()
    .join(' ')
}

/** 12 characters of a–z and 0–9, as names of members are. */
function randomName(): string {
  return Array.from({ length: 12 }, () => Math.floor(systemRandom.next() * 36).toString(36)).join('')
}
