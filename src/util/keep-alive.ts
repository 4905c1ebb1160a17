import type { Clock } from '../contract/clock.js'

interface Connection {
  /** When the connection last received bytes, by the clock. */
  readonly receivedAt: number
  close(): unknown
}

export interface SignsOfLife<V> {
  readonly session: Connection
  readonly clock: Clock
  /** How often there is a sign while the next step takes long, in milliseconds. */
  readonly everyMs: number
  /** The sign, such as a page without events; `last` is the step before, if there was one. */
  sign(last: V | undefined): V
}

/**
 * The same steps, and a sign of life between them as long as the connection receives bytes. So a large answer over a slow line is not
 * mistaken for silence. Closes the session at the end.
 */
export async function* withSignsOfLife<V>(
  steps: AsyncGenerator<V>,
  { session, clock, everyMs, sign }: SignsOfLife<V>,
): AsyncGenerator<V> {
  let last: V | undefined
  try {
    for (;;) {
      const next = steps.next()
      while (!(await isSettledWithin(everyMs, next, clock))) {
        if (clock.now() - session.receivedAt < everyMs) yield sign(last)
      }
      const step = await next
      if (step.done === true) return
      last = step.value
      yield last
    }
  } finally {
    await session.close() // Before the steps are ended: they may be waiting for an answer.
    await steps.return(undefined)
  }
}

async function isSettledWithin(ms: number, promise: Promise<unknown>, clock: Clock): Promise<boolean> {
  const timer = new AbortController()
  const settled = promise.then(
    () => true,
    () => true,
  )
  const late = clock.sleep(ms, timer.signal).then(
    () => false,
    () => true,
  )
  const outcome = await Promise.race([settled, late])
  timer.abort(OVER)
  return outcome
}

/** One for all: making one takes time. */
const OVER = new Error('over')
