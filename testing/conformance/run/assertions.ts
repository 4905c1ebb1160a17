import { type Clock, systemClock } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { WatchEvent } from '../../../src/contract/source.js'
import { assertVersion } from '../../../src/contract/version.js'

/** A source has to stop within this time after its signal aborts, in milliseconds. */
const STOP_TIMEOUT_MS = 100

/** The error of a case: how a source violates its contract. */
export class ContractViolation extends Error {
  override readonly name: string = 'ContractViolation'
}

export function check(condition: boolean, violation: string): asserts condition {
  if (!condition) throw new ContractViolation(violation)
}

/** Returns the result of `work`. After `ms` milliseconds it throws a ContractViolation that names `what`. */
export async function withTimeout<V>(ms: number, what: string, work: Promise<V>): Promise<V> {
  const timer = new AbortController()
  const late = systemClock.sleep(ms, timer.signal).then(
    () => {
      throw new ContractViolation(`timed out waiting for ${what}`)
    },
    () => new Promise<never>(() => {}),
  )
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
  }
}

export async function eventually(ms: number, what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = systemClock.now() + ms
  while (!(await condition())) {
    check(systemClock.now() < deadline, `timed out waiting until ${what}`)
    await systemClock.sleep(5)
  }
}

/** Throws unless `work` settles within 100 ms, in small steps: a starved process does not count as a slow source. */
export async function assertEndsInTime(what: string, work: Promise<unknown>): Promise<void> {
  let hasEnded = false
  const end = (): void => {
    hasEnded = true
  }
  work.then(end, end)
  for (let ms = 0; ms < STOP_TIMEOUT_MS && !hasEnded; ms += 5) await systemClock.sleep(5)
  check(hasEnded, `${what} had not ended ${STOP_TIMEOUT_MS} ms after its signal`)
}

/** Returns the SourceError with which `work` rejects. Throws for any other outcome. */
export async function sourceErrorOf(what: string, work: Promise<unknown>): Promise<SourceError> {
  try {
    await work
  } catch (error) {
    if (error instanceof SourceError) return error
    if (error instanceof ContractViolation) throw error
    throw new ContractViolation(`${what} threw an error that is not a SourceError: ${String(error)}`, { cause: error })
  }
  throw new ContractViolation(`${what} did not fail`)
}

/** The system clock, which counts the sleeps that have not ended. */
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

/** Throws for values that are not events. */
export function checkEvents(events: unknown, call: 'list' | 'watch'): void {
  check(Array.isArray(events), `a ${call} yielded events that are not an array`)
  for (const event of events) checkEvent(event, call)
}

function checkEvent(event: WatchEvent<unknown>, call: 'list' | 'watch'): void {
  switch (event.type) {
    case 'put':
    case 'delete':
      check(typeof event.key === 'string', `a ${call} yielded a ${event.type} without a key`)
      break
    case 'invalid':
      check(event.error !== undefined, `a ${call} yielded an invalid event without an error`)
      break
    case 'replace':
      check(call === 'watch', 'a list yielded a replace')
      for (const { key } of event.entries) check(typeof key === 'string', 'an entry of a replace has no key')
      break
    default:
      check(false, `a ${call} yielded an event of the type ${String(Object(event).type)}`)
  }
}

export function checkVersion(version: unknown, of: string): asserts version is string {
  assertVersion(version, `the version of ${of}`)
}
