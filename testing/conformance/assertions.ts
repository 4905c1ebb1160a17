import { type Clock, systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'

/** How soon a source has to stop once its signal has aborted, in milliseconds. */
const STOP_TIMEOUT_MS = 100

/** What a case says of a source that broke its contract. */
export class ContractViolation extends Error {
  override readonly name: string = 'Refusal'
}

export function check(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new ContractViolation(otherwise)
}

/** What `work` gives; after `ms`, a refusal that says what was waited for. */
export async function withTimeout<V>(ms: number, what: string, work: Promise<V>): Promise<V> {
  const timer = new AbortController()
  const late = systemClock.sleep(ms, timer.signal).then(
    () => {
      throw new ContractViolation(`waited in vain for ${what}`)
    },
    () => new Promise<never>(() => {}),
  )
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
  }
}

/** Waits for a condition to hold. */
export async function eventually(ms: number, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = systemClock.now() + ms
  while (!(await isSo())) {
    check(systemClock.now() < deadline, `waited in vain until ${what}`)
    await systemClock.sleep(5)
  }
}

/**
 * Refuses what has not ended, one way or another, 100 ms after its signal. The time is counted in small steps, so that
 * a process that hardly gets to run is not taken for a slow source.
 */
export async function assertEndsInTime(what: string, work: Promise<unknown>): Promise<void> {
  let hasEnded = false
  const end = (): void => {
    hasEnded = true
  }
  work.then(end, end)
  for (let ms = 0; ms < STOP_TIMEOUT_MS && !hasEnded; ms += 5) await systemClock.sleep(5)
  check(hasEnded, `${what} had not ended ${STOP_TIMEOUT_MS} ms after its signal`)
}

/** The SourceError with which `work` rejects; anything else is refused. */
export async function sourceErrorOf(what: string, work: Promise<unknown>): Promise<SourceError> {
  try {
    await work
  } catch (error) {
    if (error instanceof SourceError) return error
    if (error instanceof ContractViolation) throw error
    throw new ContractViolation(`${what} threw something that is no SourceError: ${String(error)}`, { cause: error })
  }
  throw new ContractViolation(`${what} did not fail`)
}

/** Real time, by which is known how many sleeps have not ended. */
export class CountingClock implements Clock {
  sleeping = 0

  now(): number {
    return systemClock.now()
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeping++
    try {
      await systemClock.sleep(ms, signal)
    } finally {
      this.sleeping--
    }
  }
}
