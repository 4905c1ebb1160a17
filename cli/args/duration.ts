import { CliError } from '../output/cli-error.js'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** "500ms", "20s", "10m", "1h" as milliseconds. */
export function parseDuration(text: string, option: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  const ms = Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN)
  if (ms > 0) return ms
  throw new CliError(`${option} needs a duration such as 500ms, 20s, 10m or 1h, got "${text}"`)
}

/** "1 m 20 s" */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const rest = seconds % 60
  return `${Math.floor(seconds / 60)} m${rest === 0 ? '' : ` ${rest} s`}`
}
