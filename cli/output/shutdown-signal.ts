import { systemClock } from '../../src/contract/clock.js'

/** What a reader of ours has not taken so long after the end is lost, in milliseconds: who reads nothing must not keep us. */
const LAST_WORDS_MS = 1_000

const TIME_IS_UP = Symbol('time is up')

/** Aborts on Ctrl-C, on SIGTERM, and when whoever reads our output has gone. A second Ctrl-C ends the process at once. */
export function endingSignal(): AbortController {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, end)
  process.stdout.on('error', end) // main.ts says which error it may be.
  return ending
}

/** Aborts `ending` after so many milliseconds. */
export function endAfter(ms: number | undefined, ending: AbortController): void {
  if (ms !== undefined) {
    systemClock.sleep(ms, ending.signal).then(
      () => ending.abort(TIME_IS_UP),
      () => {},
    )
  }
}

/** To be called when all is done: a process that was told to end does so even where nobody reads what it has written. */
export function endForGood({ signal }: AbortController): void {
  if (signal.aborted && signal.reason !== TIME_IS_UP) setTimeout(() => process.exit(), LAST_WORDS_MS).unref()
}
