import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Leases } from '../../src/contract/leases.js'

const MEMBER = 'member000009'
/** Longer than a hint takes, in milliseconds. */
const PAUSE_MS = 300

/** Asserts that a watch names a member that claims no key any more, and a member that leaves, but none that claims keys. */
export async function expectReleasedMembers(leases: Leases): Promise<void> {
  const [watching, session] = [leases.open(), leases.open()]
  const stop = new AbortController()
  const hints: (string | undefined)[] = []
  let renewal = 0
  const renew = (members: readonly string[], holds: readonly string[] = []): Promise<unknown> =>
    session.renew({ member: MEMBER, renewal: renewal++, members, holds }, [], stop.signal)
  const namesMember = (): Promise<void> => expect.poll(() => hints, { timeout: 10_000 }).toContain(MEMBER)
  try {
    watching.watch?.((released) => hints.push(released), stop.signal)
    await renew([])
    // Changes before the watch was open are not reported.
    const isOpen = async (): Promise<number> => {
      await renew([MEMBER], [String(renewal)])
      return hints.length
    }
    await expect.poll(isOpen, { timeout: 10_000 }).toBeGreaterThan(0)
    await sleep(PAUSE_MS)
    hints.length = 0
    await renew([MEMBER, 'other'])
    await expect.poll(() => hints, { timeout: 10_000 }).toEqual([undefined])
    await renew([])
    await namesMember()
    await renew([MEMBER])
    await sleep(PAUSE_MS)
    hints.length = 0
    await session.leave(MEMBER)
    await namesMember()
  } finally {
    stop.abort()
    await watching.close()
    await session.close()
  }
}
