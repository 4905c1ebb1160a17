/** Aborts on Ctrl-C, on SIGTERM, and when whoever reads our output has gone. A second Ctrl-C ends the process at once. */
export function endingSignal(): AbortController {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, end)
  process.stdout.on('error', (error: { readonly code?: string }) => {
    if (error.code !== 'EPIPE') throw error
    end()
  })
  return ending
}

/** Aborts `ending` after so many milliseconds; the timer keeps nothing alive. */
export function endAfter(ms: number | undefined, ending: AbortController): void {
  if (ms !== undefined) setTimeout(() => ending.abort(), ms).unref()
}
