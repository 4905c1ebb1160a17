/** Formats a duration for a reader: `120 ms`, `4.2 s`, `3 min`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

export function count(number: number | null | undefined): string {
  return number === null || number === undefined ? '–' : number.toLocaleString('en')
}

export function bytes(number: number): string {
  if (number < 1_000_000) return `${Math.round(number / 1_000)} kB`
  return `${(number / 1_000_000).toFixed(1)} MB`
}

export function clockTime(at: number | string): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

/** Shows a value of JSON in one line. */
export function inline(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent'
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
