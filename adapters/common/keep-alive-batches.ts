import type { Clock } from '../../src/contract/clock.js'

interface Connection {
  readonly receivedAt: number
  close(): unknown
}

export interface KeepAliveOptions<V> {
  readonly session: Connection
  readonly clock: Clock
  /** The distance of keep-alives during a slow step, in milliseconds. */
  readonly everyMs: number
  /** Returns a batch without events, or undefined. `last`: the previous value, if there is one. */
  keepAlive(last: V | undefined): V | undefined
}

/** Yields `steps`, and keep-alives while bytes of a large response arrive slowly. Closes the session at the end. */
export async function* withKeepAliveBatches<V>(
  steps: AsyncGenerator<V>,
  { session, clock, everyMs, keepAlive }: KeepAliveOptions<V>,
): AsyncGenerator<V> {
  let last: V | undefined
  try {
    for (;;) {
      const next = steps.next()
      while (!(await isSettledWithin(everyMs, next, clock))) {
        const batch = clock.now() - session.receivedAt < everyMs ? keepAlive(last) : undefined
        if (batch !== undefined) yield batch
      }
      const step = await next
      if (step.done === true) return
      last = step.value
      yield last
    }
  } finally {
    await session.close() // Before the steps end: they may be waiting for a response.
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

/** Shared by all calls, because creating an error is slow. */
const OVER = new Error('over')
