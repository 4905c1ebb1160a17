import { afterEach, describe, expect, test, vi } from 'vitest'
import { type MemoryLeases, type MemorySource, memoryLeases, memorySource } from '../../../../adapters/memory/index.js'
import type { SourceError } from '../../../../src/contract/errors.js'
import { LeaseLostError, type LeaseSession, type Leases } from '../../../../src/contract/leases.js'
import { createInformer } from '../../../../src/informer/create-informer.js'
import type { Informer } from '../../../../src/informer/informer-types.js'
import type {
  Controller,
  ReconcileContext,
  ReconcileOptions,
} from '../../../../src/subscriptions/controller/controller-types.js'
import { Feed } from '../../../../src/subscriptions/feed.js'
import { hashOf, Owners } from '../../../../src/subscriptions/replicas/owners.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'

const KEYS = Array.from({ length: 30 }, (_, nth) => `key-${nth}`)
/** A new group runs its first key after this time, in milliseconds. */
const JOIN_MS = 11_000

type Run = { readonly replica: number; readonly key: string; readonly context: ReconcileContext<number> }

/** A clock whose wall clock can be ahead, as after a sleep of the machine. */
class SleepingClock extends VirtualClock {
  sleptMs = 0

  wallNow(): number {
    return this.now() + this.sleptMs
  }
}

/** The same leases, whose records are removed after a delay. */
function leavingLate(leases: Leases, delay: () => Promise<void>): Leases {
  const { name, mode, leaseMs, renewMs } = leases
  const open = (): LeaseSession => {
    const session = leases.open()
    const leave = async (member: string): Promise<void> => {
      await delay()
      await session.leave(member)
    }
    const renew: LeaseSession['renew'] = (...request) => session.renew(...request)
    return { renew, leave, close: () => session.close() }
  }
  return { name, mode, leaseMs, renewMs, open }
}

class Group {
  readonly clock = new SleepingClock()
  readonly source: MemorySource<number> = memorySource({ entries: KEYS.map((key) => [key, 1] as const) })
  readonly leases: MemoryLeases
  readonly controllers: Controller[] = []
  readonly informers: Informer<number>[] = []
  readonly errors: SourceError[] = []
  runs: Run[] = []
  /** What a run does. */
  work: (run: Run) => Promise<void> = async () => {}

  constructor(mode: 'share' | 'leader' = 'share') {
    this.leases = memoryLeases({ group: 'orders', mode, clock: this.clock })
  }

  /** Adds a replica, and returns its number. */
  add(options: ReconcileOptions<number> = {}, clock: VirtualClock = this.clock): number {
    const replica = this.controllers.length
    const informer = createInformer({ source: this.source, clock, random: new SeededRandom(replica + 1) })
    informer.on('error', (error) => this.errors.push(error))
    const fn = (key: string, context: ReconcileContext<number>): Promise<void> => {
      const run = { replica, key, context }
      this.runs.push(run)
      return this.work(run)
    }
    this.controllers.push(informer.reconcile(fn, { leases: this.leases, ...options }))
    this.informers.push(informer.start())
    return replica
  }

  /** The runs since the last call, as `replica:key`. */
  taken(): string[] {
    const { runs } = this
    this.runs = []
    return runs.map(({ replica, key }) => `${replica}:${key}`)
  }

  keysOf(replica: number): string[] {
    return this.runs.filter((run) => run.replica === replica).map(({ key }) => key)
  }
}

let group = new Group()

/** Starts a group, and waits until its replicas own all keys. */
async function joined(replicas: 1 | 2): Promise<void> {
  group = new Group()
  for (let nth = 0; nth < replicas; nth++) group.add()
  await group.clock.advance(replicas === 1 ? JOIN_MS : 15_000)
}

afterEach(async () => {
  const stopped = Promise.all(group.informers.map((informer) => informer.stop()))
  await group.clock.advance(20_000)
  await stopped
})

describe('a controller on several replicas', () => {
  test('runs a change on the owner of its key, and waits for its version on every replica', async () => {
    await joined(2)
    const owner = group.runs.findLast(({ key }) => key === 'key-3')?.replica
    group.taken()
    const mark = group.source.put('key-3', 2)
    const waits = group.controllers.map((controller) => controller.waitFor(mark))
    await group.clock.advance(1_000)
    await Promise.all(waits)
    expect(group.taken()).toEqual([`${owner}:key-3`])
  })

  test('[L8][L9] a run of a key that was lost continues, and the new owner waits until it settles, however long', async () => {
    group = new Group()
    const ends: (() => void)[] = []
    group.work = ({ replica }) => (replica === 0 ? new Promise((resolve) => ends.push(resolve)) : Promise.resolve())
    group.add({ concurrency: KEYS.length })
    await group.clock.advance(JOIN_MS)
    group.taken()
    const signals = group.runs.map(({ context }) => context.signal)
    group.add()
    await group.clock.advance(20_000)
    expect(group.taken()).toEqual([])
    expect(signals.some(({ aborted }) => aborted)).toBe(false)
    const deleted = KEYS.slice(15)
    for (const key of deleted) group.source.delete(key)
    await group.clock.advance(60_000)
    group.source.delete('key-0')
    for (const end of ends) end()
    await group.clock.advance(1_000)
    expect(group.keysOf(1).filter((key) => !deleted.includes(key)).length).toBeGreaterThan(5)
    expect(group.keysOf(0).filter((key) => !deleted.includes(key) && key !== 'key-0')).toEqual([])
    expect(group.runs.map(({ key }) => key)).toEqual(expect.arrayContaining(deleted))
  })

  test('[L8] a run that timed out holds its key until it settles', async () => {
    group = new Group()
    const settles: (() => void)[] = []
    group.work = ({ replica }) =>
      replica === 0 ? new Promise<void>((resolve) => settles.push(resolve)) : Promise.resolve()
    group.add({ timeoutMs: 1_000, key: 'key-1' })
    await group.clock.advance(JOIN_MS + 100)
    const [run] = group.runs
    const closed = group.controllers[0]?.close()
    group.add({ key: 'key-1' })
    await group.clock.advance(20_000)
    await closed
    expect([run?.context.signal.aborted, group.keysOf(1)]).toEqual([true, []])
    for (const settle of settles) settle()
    await group.clock.advance(3_000)
    expect(group.keysOf(1)).toEqual(['key-1'])
  })

  test('[L10] a replica that is closed releases its keys at once', async () => {
    await joined(2)
    const released = group.keysOf(0)
    group.taken()
    const closed = group.controllers[0]?.close()
    await group.clock.advance(200)
    await closed
    expect([group.keysOf(1).sort(), group.leases.records.length]).toEqual([released.sort(), 1])
  })

  test.each([{}, { drainMs: 5_000 }])('[L10] a stop with %o ends after the record was removed', async (options) => {
    group = new Group()
    const { clock, leases } = group
    group.add({ leases: leavingLate(leases, () => clock.sleep(100)) })
    await group.clock.advance(JOIN_MS)
    let isStopped = false
    const stopped = group.informers[0]?.stop(options).then(() => (isStopped = true))
    await group.clock.advance(99)
    expect(isStopped).toBe(false)
    await group.clock.advance(2)
    expect([isStopped, leases.records]).toEqual([true, []])
    await stopped
  })

  const fail = (): Promise<never> => JSON.parse('')
  test.each([fail, async () => fail()])('[L10] runs keys and stops if all but renewals fails: %s', async (fails) => {
    group = new Group()
    const late = leavingLate(group.leases, fails)
    const watch = fails as () => void
    group.add({ leases: { ...late, open: () => ({ ...late.open(), watch, leave: fails, close: fails }) } })
    await group.clock.advance(60_000) // Then another error is reported.
    await group.informers[0]?.stop()
    const codes = group.errors.map(({ code }) => code)
    expect([codes, group.taken().length]).toEqual([['UNAVAILABLE', 'UNAVAILABLE'], KEYS.length])
  })

  test('a replica that stops during a renewal reports no error', async () => {
    await joined(1)
    group.leases.disturb('late reply')
    await group.clock.advance(2_500) // The renewal has no reply yet.
    const stopped = group.informers[0]?.stop()
    await group.clock.advance(1_000)
    await stopped
    expect([group.errors, group.leases.records]).toEqual([[], []])
  })

  test('[L10] a replica that a listener of an aborted signal closes leaves no later record', async () => {
    await joined(1)
    group.runs[0]?.context.signal.addEventListener('abort', () => void group.controllers[0]?.close())
    group.clock.sleptMs = 9_500
    await group.clock.advance(5_000)
    expect([group.leases.records.some(({ renewal }) => renewal === 0), group.errors.length]).toEqual([false, 1])
  })

  test('[L10] a replica that drains runs what it owns, and then leaves', async () => {
    await joined(2)
    const owned = group.keysOf(0)
    group.taken()
    group.work = () => group.clock.sleep(100)
    for (const key of KEYS) group.source.put(key, 2)
    await group.clock.advance(1)
    const closed = group.controllers[0]?.close({ drain: true })
    await group.clock.advance(10_000)
    await closed
    expect([group.keysOf(0).sort(), new Set(group.keysOf(1))]).toEqual([owned.sort(), new Set(KEYS)])
  })

  test('[L5][L12] when a lease ends its runs abort, no run begins, and the replica joins again', async () => {
    group = new Group()
    group.work = ({ context: { signal } }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    group.add()
    await group.clock.advance(JOIN_MS)
    const [run] = group.runs
    const member = group.controllers[0]?.replica?.member
    group.leases.setAvailable(false)
    group.taken()
    await group.clock.advance(9_500)
    expect(run?.context.signal.reason).toBeInstanceOf(LeaseLostError)
    expect(group.controllers[0]?.replica).toMatchObject({ share: 0, leaseEndsInMs: 0 })
    await group.clock.advance(60_000)
    expect(group.taken()).toEqual([])
    expect(group.controllers[0]?.replica?.member).not.toBe(member)
    group.leases.setAvailable(true)
    await group.clock.advance(5_000)
    expect(group.taken()).toHaveLength(1)
    expect(group.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'LEASE_LOST', 'UNAVAILABLE'])
  })

  test('[L5] after a sleep of the machine a signal is aborted as soon as it is read', async () => {
    group = new Group()
    group.work = () => new Promise(() => {})
    group.add({ concurrency: 2 })
    const other = group.add({ timeoutMs: 60_000 })
    await group.clock.advance(15_000)
    const signals = group.runs.map(({ context }) => context.signal)
    expect(group.keysOf(other)).toHaveLength(1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false])
    group.clock.sleptMs = 9_500
    expect(() => signals[0]?.throwIfAborted()).toThrow(LeaseLostError)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
  })

  test('[L9] a deletion that the last owner did not see is run by the next owner', async () => {
    group = new Group()
    group.add()
    // The clock of a process that crashes stands still, and its runs do not settle.
    const clock = new VirtualClock()
    group.work = ({ replica }) => (replica === 1 ? new Promise(() => {}) : Promise.resolve())
    group.add({}, clock)
    for (let step = 0; step < 150; step++) await Promise.all([group.clock.advance(100), clock.advance(100)])
    const { members = [], member } = group.controllers[1]?.replica ?? {}
    const owners = new Owners('share', members)
    const lost = KEYS.find((key) => owners.owns(member ?? '', hashOf(key)) && !group.keysOf(1).includes(key)) ?? ''
    group.source.delete(lost)
    await group.clock.advance(100)
    group.controllers[0]?.enqueue(lost)
    group.runs = []
    await group.clock.advance(14_000)
    const context = { object: undefined, lastObject: 1 }
    expect(group.runs.find(({ key }) => key === lost)).toMatchObject({ replica: 0, context })
    const stopped = group.informers[1]?.stop()
    await clock.advance(1_000)
    await stopped
  })

  test('[L9] a key of watches that has no object is run by the next owner, also if its last object is deleted, or another key of its object is not a text', async () => {
    group = new Group()
    const keys = (n: unknown): string[] => JSON.parse(`["total-${Number(n) % 20}"${n === 3 ? ', null' : ''}]`)
    for (let replica = 0; replica < 2; replica++) {
      const watched = createInformer({ source: group.source, clock: group.clock, random: new SeededRandom(9) })
      group.informers.push(watched.start())
      group.add({ filter: () => false, watches: [{ informer: watched, keys }] })
    }
    await group.clock.advance(15_000)
    group.taken()
    for (let value = 1; value <= 20; value++) group.source.put(`key-${value}`, value)
    await group.clock.advance(1_000)
    const released = new Set(group.keysOf(0))
    expect(released.size).toBeGreaterThan(2)
    expect(group.keysOf(1).filter((key) => released.has(key))).toEqual([])
    await group.clock.advance(120_000) // The other replica forgets the keys that it did not run.
    const [deleted = ''] = released
    group.work = ({ context: { signal } }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    for (const [key, value] of group.informers[0]?.entries() ?? [])
      if (keys(value)[0] === deleted) group.source.delete(key)
    await group.clock.advance(1_000)
    group.taken()
    group.work = async () => {}
    const closed = group.controllers[0]?.close()
    await group.clock.advance(5_000)
    await closed
    expect(new Set(group.keysOf(1))).toEqual(released)
    expect(new Set(group.runs.map(({ context }) => context.reason))).toEqual(new Set(['gained']))
  })

  test('[L9] a key that was enqueued on another replica is run by the next owner', async () => {
    await joined(2)
    const owner = new Owners('share', group.controllers[0]?.replica?.members ?? [])
    const member = group.controllers[0]?.replica?.member ?? ''
    const key = Array.from({ length: 50 }, (_, nth) => `other-${nth}`).find((each) => owner.owns(member, hashOf(each)))
    group.taken()
    group.controllers[1]?.enqueue(key ?? '')
    await group.clock.advance(100)
    expect(group.taken()).toEqual([])
    const closed = group.controllers[0]?.close()
    await group.clock.advance(5_000)
    await closed
    expect(group.taken()).toContain(`1:${key}`)
  })

  test('[L9] a deletion while the lease store is away is run when it is back', async () => {
    await joined(1)
    group.leases.setAvailable(false)
    await group.clock.advance(10_000)
    group.source.delete('key-3')
    await group.clock.advance(60_000)
    group.taken()
    group.leases.setAvailable(true)
    await group.clock.advance(15_000)
    expect(group.runs.find(({ key }) => key === 'key-3')?.context).toMatchObject({ object: undefined, lastObject: 1 })
  })

  test('[L10] a replica whose controller is closed by an error leaves its group', async () => {
    await joined(1)
    const startReplay = vi.spyOn(Feed.prototype, 'startReplay').mockImplementation(function (this: Feed<unknown>) {
      this.fail(new Error('a defect'))
    })
    group.add()
    await group.clock.advance(0)
    startReplay.mockRestore()
    await group.clock.advance(15_000)
    expect(group.leases.records.map(({ member }) => member)).toEqual([group.controllers[0]?.replica?.member])
    expect(new Set(group.keysOf(0))).toEqual(new Set(KEYS))
  })

  test('a controller that is closed by an error aborts its runs after the commit', async () => {
    await joined(1)
    group.work = async ({ context }) => {
      context.signal.addEventListener('abort', () => waiting.push(other?.backlog.keys))
      await group.clock.sleep(1_000)
    }
    const waiting: (number | undefined)[] = []
    group.source.put('key-1', 2)
    await group.clock.advance(0)
    const other = group.informers[0]?.subscribe({ update: async () => await group.clock.sleep(1_000) })
    await group.clock.advance(0)
    const enqueue = vi.spyOn(Feed.prototype, 'enqueue').mockImplementationOnce(function (this: Feed<unknown>) {
      this.fail(new Error('a defect'))
    })
    group.source.put('key-2', 2)
    await group.clock.advance(0)
    enqueue.mockRestore()
    expect(waiting).toEqual([1])
  })

  test('[L9] failing has only keys that this replica may run', async () => {
    group = new Group()
    group.add({ retry: { maxAttempts: 1 } })
    group.work = async () => Promise.reject(new Error('not now'))
    await group.clock.advance(15_000)
    expect(group.controllers[0]?.failing.size).toBe(KEYS.length)
    group.work = async () => {}
    group.add()
    await group.clock.advance(15_000)
    const moved = group.keysOf(1)
    expect(moved.length).toBeGreaterThan(5)
    const left = [...(group.controllers[0]?.failing.keys() ?? [])]
    expect(left.sort()).toEqual(KEYS.filter((key) => !moved.includes(key)).sort())
  })

  test('[L11] in mode leader one replica runs all keys, and the next one takes over', async () => {
    group = new Group('leader')
    group.add()
    group.add()
    await group.clock.advance(15_000)
    const leader = group.runs.at(-1)?.replica ?? 0
    expect(group.keysOf(leader).sort()).toEqual([...KEYS].sort())
    expect(new Set(group.controllers.map(({ replica }) => replica?.share))).toEqual(new Set([0, 1]))
    group.taken()
    void group.informers[leader]?.stop()
    await group.clock.advance(3_000)
    expect(group.keysOf(1 - leader).sort()).toEqual([...KEYS].sort())
  })

  test('the status has the members, the share, the lease and the fence', async () => {
    group = new Group()
    group.add()
    expect(group.controllers[0]?.replica).toMatchObject({ members: [], share: 0, leaseEndsInMs: 0, fence: undefined })
    group.add()
    await group.clock.advance(15_000)
    const [first, second] = group.controllers.map(({ replica }) => replica)
    expect(new Set(first?.members)).toEqual(new Set([first?.member, second?.member]))
    expect((first?.share ?? 0) + (second?.share ?? 0)).toBe(1)
    expect(first?.share).toBeCloseTo(0.5, 1)
    expect(first?.leaseEndsInMs).toBeGreaterThan(6_000)
    expect(first?.fence).toBeGreaterThan(5)
  })

  test('reconcile refuses an option leases that is not a lease store', () => {
    group = new Group()
    const informer = createInformer({ source: group.source, clock: group.clock })
    const wrong = { leases: { name: 'no' } } as unknown as ReconcileOptions<number>
    const says = 'reconcile: option "leases" must be a lease store, as `memoryLeases` returns, got an object'
    expect(() => informer.reconcile(async () => {}, wrong)).toThrow(says)
    expect(() => informer.subscribe({}, wrong as object)).toThrow('unknown option "leases"')
  })
})
