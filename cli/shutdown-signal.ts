import { systemClock } from '../src/contract/clock.js'

/** How long the output may take to be read after a shutdown, in milliseconds. Then the process exits. */
const FLUSH_TIMEOUT_MS = 1_000

const DURATION_ELAPSED = Symbol('time is up')
const PIPE_CLOSED = Symbol('the output is closed')

/** Aborts on Ctrl-C, on SIGTERM, and when the reader of the output closes it. A second Ctrl-C ends the process at once. */
export function shutdownSignal(): AbortController {
  const shutdown = new AbortController()
  const abort = (): void => shutdown.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, abort)
  process.stdout.on('error', () => shutdown.abort(PIPE_CLOSED)) // main.ts handles the error.
  return shutdown
}

export function shutDownAfter(ms: number | undefined, shutdown: AbortController): void {
  if (ms !== undefined) {
    systemClock.sleep(ms, shutdown.signal).then(
      () => shutdown.abort(DURATION_ELAPSED),
      () => {},
    )
  }
}

const INTERRUPTED = 130

/** Sets the exit code of a command whose result is incomplete because it was interrupted. A closed pipe does not count. */
export function exitInterrupted({ signal }: AbortController): void {
  if (signal.aborted && signal.reason !== DURATION_ELAPSED && signal.reason !== PIPE_CLOSED)
    process.exitCode = INTERRUPTED
}

/** Call it after the clean-up: a process that was shut down exits even if no reader takes its output. */
export function forceExit({ signal }: AbortController): void {
  if (signal.aborted && signal.reason !== DURATION_ELAPSED) setTimeout(() => process.exit(), FLUSH_TIMEOUT_MS).unref()
}
