import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED } from '../../../src/contract/errors.js'

/** So often, in milliseconds: the core gives up a list that tells nothing for 30 s, which knows nothing of this source's own deadlines. */
const SIGN_MS = 10_000

/** What `pages` tells, and `empty` whenever that is nothing for 10 s: credentials and a server may take longer, and each has a deadline. */
export async function* withLifeSigns<P>(pages: AsyncGenerator<P>, empty: P, clock: Clock): AsyncGenerator<P> {
  let isWaiting = false
  try {
    for (;;) {
      const next = pages.next()
      isWaiting = true
      let told = await inTime(next, clock)
      for (; told === undefined; told = await inTime(next, clock)) yield empty
      isWaiting = false
      if (told.done === true) return
      yield told.value
    }
  } finally {
    const closed = pages.return(undefined)
    // Who leaves in the middle of a wait is not held up by it.
    if (isWaiting) closed.catch(() => {})
    else await closed
  }
}

/** Undefined where it takes longer. */
async function inTime<V>(promise: Promise<V>, clock: Clock): Promise<V | undefined> {
  const timer = new AbortController()
  const late = clock.sleep(SIGN_MS, timer.signal).then(() => undefined)
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    timer.abort(ABORTED)
  }
}
