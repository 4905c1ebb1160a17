import { expect } from 'vitest'
import { LeaseLostError, type LeaseSession, type Leases, type LeaseView, systemClock } from '../../../src/adapter.js'
import { waitUntil } from '../../servers/wait-until.js'

/** Renewals are lost by the test after this time, in milliseconds. */
const REQUEST_MS = 500
const RECOVERY_MS = 60_000

type Confirmed = { readonly member: string; readonly renewal: number; readonly epoch: string }

/** What the requests of all members have shown so far. Each promise is checked when a request ends. */
class Checker {
  readonly epochs = new Set<string>()
  greatestFence = 0
  /** The last confirmed renewal of each member that has not lost its lease. */
  readonly confirmed = new Map<string, Confirmed>()

  /** Call it when a request begins, and the result with its view. */
  begin(): (member: string, renewal: number, view: LeaseView) => void {
    const fence = this.greatestFence
    const before = [...this.confirmed.values()]
    return (member, renewal, view) => {
      expect(view.fence, 'a fence is greater than those of all requests that ended before').toBeGreaterThan(fence)
      for (const each of before) {
        if (each.epoch !== view.epoch || !this.confirmed.has(each.member)) continue
        const found = view.records.find((record) => record.member === each.member)?.renewal
        expect(found, `${each.member}: a confirmed renewal is visible in the same epoch`).toBeGreaterThanOrEqual(
          each.renewal,
        )
      }
      this.greatestFence = Math.max(this.greatestFence, view.fence)
      this.epochs.add(view.epoch)
      this.confirmed.set(member, { member, renewal, epoch: view.epoch })
    }
  }
}

/** Members that renew without pauses, while faults happen. */
export class LeaseCampaign {
  readonly checker = new Checker()
  /** The number of renewals that succeeded, and of leases that were lost. */
  readonly counts = { renewed: 0, failed: 0, lost: 0 }
  readonly #stop = new AbortController()
  readonly #runs: Promise<void>[]

  constructor(create: () => Leases, members = 4) {
    this.#runs = Array.from({ length: members }, (_, at) => this.#run(create().open(), at))
  }

  /** Waits until each member has renewed its lease once more. */
  async recovered(): Promise<void> {
    const before = this.counts.renewed
    await waitUntil('renewals to succeed again', () => this.counts.renewed >= before + 40, RECOVERY_MS)
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#runs)
  }

  /** It ends after it has recovered, in its first epoch, without a lost lease. */
  async endsUnharmed(): Promise<void> {
    await this.recovered()
    await this.end()
    expect([this.checker.epochs.size, this.counts.lost]).toEqual([1, 0])
  }

  async #run(session: LeaseSession, at: number): Promise<void> {
    const { signal: stopped } = this.#stop
    let joins = 0
    let member = ''
    let renewal = 0
    let lostEpoch: string | undefined
    await using _ = { [Symbol.asyncDispose]: () => session.close() }
    while (!stopped.aborted) {
      if (renewal === 0) member = `member${at}-${String(++joins).padStart(4, '0')}`
      const record = { member, renewal, members: [member], holds: [String(renewal)] }
      const end = this.checker.begin()
      try {
        const view = await session.renew(record, [], AbortSignal.timeout(REQUEST_MS))
        expect(view.epoch, 'a store that has lost a record has another epoch').not.toBe(lostEpoch)
        end(member, renewal++, view)
        lostEpoch = undefined
        this.counts.renewed++
      } catch (error) {
        if (error instanceof LeaseLostError) {
          // The first request of a member may have been performed, although its reply was lost.
          if (renewal > 0) lostEpoch = this.checker.confirmed.get(member)?.epoch
          this.checker.confirmed.delete(member)
          renewal = 0
          this.counts.lost++
        } else if (error instanceof Error && error.name === 'AssertionError') throw error
        else {
          // A join that may have been performed is not repeated under the same name.
          if (renewal > 0) renewal++
          this.counts.failed++
          await systemClock.sleep(50)
        }
      }
    }
  }
}
