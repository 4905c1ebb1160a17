import { systemClock } from '../src/contract/clock.js'

/** How long the output may take to be read after a shutdown, in milliseconds. Then the process exits. */
const FLUSH_TIMEOUT_MS = 1_000

const DURATION_ELAPSED = Symbol('time is up')

/** Aborts on Ctrl-C, on SIGTERM, and when the reader of the output closes it. A second Ctrl-C ends the process at once. */
export function shutdownSignal(): AbortController {
  const shutdown = new AbortController()
  const abort = (): void => shutdown.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, abort)
  process.stdout.on('error', abort) // main.ts handles the error.
  return shutdown
}

/** Aborts `shutdown` after `ms` milliseconds; never if they are undefined. */
export function shutDownAfter(ms: number | undefined, shutdown: AbortController): void {
  if (ms !== undefined) {
    systemClock.sleep(ms, shutdown.signal).then(
      () => shutdown.abort(DURATION_ELAPSED),
      () => {},
    )
  }
}

/** Call it after the clean-up: a process that was shut down exits even if no reader takes its output. */
export function forceExit({ signal }: AbortController): void {
  if (signal.aborted && signal.reason !== DURATION_ELAPSED) setTimeout(() => process.exit(), FLUSH_TIMEOUT_MS).unref()
}
