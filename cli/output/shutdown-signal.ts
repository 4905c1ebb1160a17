import { systemClock } from '../../src/contract/clock.js'

/** What a reader of ours has not taken so long after the end is lost, in milliseconds: who reads nothing must not keep us. */
const FLUSH_TIMEOUT_MS = 1_000

const DURATION_ELAPSED = Symbol('time is up')

/** Aborts on Ctrl-C, on SIGTERM, and when whoever reads our output has gone. A second Ctrl-C ends the process at once. */
export function shutdownSignal(): AbortController {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, end)
  process.stdout.on('error', end) // main.ts says which error it may be.
  return ending
}

/** Aborts `ending` after so many milliseconds. */
export function shutDownAfter(ms: number | undefined, ending: AbortController): void {
  if (ms !== undefined) {
    systemClock.sleep(ms, ending.signal).then(
      () => ending.abort(DURATION_ELAPSED),
      () => {},
    )
  }
}

/** To be called when all is done: a process that was told to end does so even where nobody reads what it has written. */
export function forceExit({ signal }: AbortController): void {
  if (signal.aborted && signal.reason !== DURATION_ELAPSED) setTimeout(() => process.exit(), FLUSH_TIMEOUT_MS).unref()
}
