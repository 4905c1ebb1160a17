import type { Attempt } from './attempt.js'

/** Waits for a relist slot, which `admission` grants, and releases it when the list that `begin` starts has ended. */
export async function inSlot<V>(attempt: Attempt, admission: Promise<() => void>, begin: () => Promise<V>): Promise<V> {
  const release = await attempt.race(admission).catch((reason: unknown) => {
    // The slot may be granted just as the wait is cancelled: release it.
    admission.then(
      (unwanted) => unwanted(),
      () => {},
    )
    throw reason
  })
  try {
    attempt.throwIfAborted()
    return await begin()
  } finally {
    release()
  }
}
