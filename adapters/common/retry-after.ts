/** The longest Retry-After that is obeyed, in milliseconds. */
export const MAX_RETRY_AFTER_MS = 600_000

/** Reads the seconds or the date of a Retry-After. `now` is the time of the server that sent it. */
export function retryAfterMsOf(header: string | null | undefined, now: number): number | undefined {
  if (header == null || header.trim() === '') return undefined
  const seconds = Number(header)
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1_000
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}
