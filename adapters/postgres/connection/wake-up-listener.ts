import type { SourceContext } from '../../../src/contract/source.js'
import type { Session } from './session.js'

/** The channel on which writers wake readers. The payload has no content, because it could not be trusted. */
const CHANNEL = 'listwatch'
/** If the test notification takes longer than this to arrive, in milliseconds, the session stops listening. */
const SELF_TEST_MS = 2_000
/** A group of leases may have a name that begins in the same way. A member follows it. */
const TEST = /^test:\d+$/

export interface WakeUps {
  readonly channel?: string
  onWakeUp(payload: string): void
  onWorking?(): void
}

/** Listens for wake-ups, and tests that they arrive: a pooler may accept LISTEN and deliver nothing. */
export async function listenForWakeUps(
  session: Session,
  { clock, signal }: Pick<SourceContext, 'clock' | 'signal'>,
  { channel = CHANNEL, onWakeUp, onWorking }: WakeUps,
): Promise<void> {
  const test = `test:${session.processId}`
  let hasArrived = false
  session.onNotification((payload) => {
    if (payload === test) hasArrived = true
    if (!TEST.test(payload)) onWakeUp(payload)
    else if (hasArrived) onWorking?.()
  })
  await session.query(`LISTEN ${channel}`)
  await session.query('SELECT pg_catalog.pg_notify($1::pg_catalog.text, $2::pg_catalog.text)', [channel, test])
  const unlistenIfBroken = async (): Promise<void> => {
    await clock.sleep(SELF_TEST_MS, signal)
    if (!hasArrived) await session.query(`UNLISTEN ${channel}`)
  }
  unlistenIfBroken().catch(() => {}) // The session ended first, and the watch reports its error.
}
