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

export function isoTime(at: number | string): string {
  return new Date(at).toISOString()
}

/** The time of an ISO time, without its date. */
export function clockTime(at: number | string): string {
  return isoTime(at).slice(11)
}

export function inline(value: unknown, length = 120): string {
  const text = JSON.stringify(value) ?? 'absent'
  return text.length > length ? `${text.slice(0, length)}…` : text
}

/** Returns what the page has remembered; null without it. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`listwatch-${name}`)
  } catch {
    return null // The browser keeps nothing for this page.
  }
}

/** Null forgets it. */
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`listwatch-${name}`)
    else localStorage.setItem(`listwatch-${name}`, value)
  } catch {} // The browser keeps nothing for this page.
}
