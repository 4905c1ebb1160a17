import { systemClock } from '../src/contract/clock.js'

/** How long the output may take to be read after a shutdown, in milliseconds. Then the process exits. */
const FLUSH_TIMEOUT_MS = 1_000

const DURATION_ELAPSED = Symbol('time is up')
const PIPE_CLOSED = Symbol('the output is closed')

/** The exit code of a command whose result is incomplete because it was interrupted. */
export const INTERRUPTED = 130

/**
 * Aborts on Ctrl-C, on SIGTERM, and when the reader of the output closes it. A second Ctrl-C ends the process at once.
 * `using` disposes of it after the clean-up: then a process that was shut down exits even if no reader takes its output.
 *
 * @param ifInterrupted The exit code after an interrupt. A closed pipe is not an interrupt.
 */
export function shutdownSignal(ifInterrupted?: number): AbortController & Disposable {
  const shutdown = new AbortController()
  const { signal } = shutdown
  const abort = (): void => shutdown.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, abort)
  process.stdout.on('error', () => shutdown.abort(PIPE_CLOSED)) // main.ts handles the error.
  return Object.assign(shutdown, {
    [Symbol.dispose]() {
      if (!signal.aborted || signal.reason === DURATION_ELAPSED) return
      setTimeout(() => process.exit(), FLUSH_TIMEOUT_MS).unref()
      if (signal.reason !== PIPE_CLOSED) process.exitCode = ifInterrupted ?? process.exitCode
    },
  })
}

export function shutDownAfter(ms: number | undefined, shutdown: AbortController): void {
  if (ms !== undefined) {
    systemClock.sleep(ms, shutdown.signal).then(
      () => shutdown.abort(DURATION_ELAPSED),
      () => {},
    )
  }
}
