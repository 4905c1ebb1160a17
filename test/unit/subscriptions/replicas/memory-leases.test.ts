import { describe, expect, test } from 'vitest'
import { type MemoryLeases, memoryLeases } from '../../../../adapters/memory/index.js'
import type { LeaseSession, LeaseView } from '../../../../src/contract/leases.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'

function renewed(session: LeaseSession, member: string, renewal: number, members: string[] = []): Promise<LeaseView> {
  return session.renew({ member, renewal, members, holds: [] }, [], new AbortController().signal)
}

/** Whether the promise has settled after all pending microtasks. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

describe('the lease store in memory', () => {
  const clock = new VirtualClock()
  const open = (): { leases: MemoryLeases; session: LeaseSession } => {
    const leases = memoryLeases({ group: 'orders', clock })
    return { leases, session: leases.open() }
  }

  test('loses and delays requests and replies as scripted', async () => {
    const { leases, session } = open()
    leases.disturb('lost request')
    expect([await isSettled(renewed(session, 'a', 0)), leases.records]).toEqual([false, []])
    leases.disturb('lost reply')
    expect([await isSettled(renewed(session, 'a', 0)), leases.records.length]).toEqual([false, 1])
    leases.disturb('late request')
    const late = renewed(session, 'a', 1)
    leases.disturb('late reply')
    const replied = renewed(session, 'a', 2)
    expect([await isSettled(late), await isSettled(replied)]).toEqual([false, false])
    leases.deliver()
    await expect(late).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect((await replied).records).toMatchObject([{ member: 'a', renewal: 2 }])
  })

  test('fails while it is not available', async () => {
    const { leases, session } = open()
    leases.setAvailable(false)
    await expect(renewed(session, 'a', 0)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await expect(session.leave('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    leases.setAvailable(true)
    await renewed(session, 'a', 0)
  })

  test('a fork loses the last writes, starts an epoch, and keeps fences growing', async () => {
    const { leases, session } = open()
    const { epoch } = await renewed(session, 'a', 0)
    const { fence } = await renewed(session, 'a', 1, ['a'])
    leases.fork()
    expect(leases.records).toMatchObject([{ renewal: 0, members: [] }])
    const view = await renewed(session, 'a', 1)
    expect(view.epoch).not.toBe(epoch)
    expect(view.fence).toBeGreaterThan(fence)
  })

  test('a renewal ends with its signal', async () => {
    const { leases, session } = open()
    leases.disturb('lost request')
    const stop = new AbortController()
    const pending = session.renew({ member: 'a', renewal: 0, members: [], holds: [] }, [], stop.signal)
    stop.abort(new Error('no longer wanted'))
    await expect(pending).rejects.toThrow('no longer wanted')
  })
})
