type Parse = (text: string) => unknown

/** timestamp and timestamptz. */
const TIMESTAMP_TYPES: ReadonlySet<number> = new Set([1114, 1184])
/** Texts of the forms that `dateOf` reads. Their results tell the parser of pg from a user's parser of the same name. */
const PROBES = [
  '2001-02-03 04:05:06.789012+00',
  '1999-12-31 23:59:59-08:30',
  '2024-02-29 12:00:00.57',
  '0100-01-01 00:00:00+14',
]
const POWERS_OF_TEN = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
const [SPACE, PLUS, MINUS, POINT, ZERO, COLON] = [0x20, 0x2b, 0x2d, 0x2e, 0x30, 0x3a]

/**
 * Returns a parser with the results of `parse`. If `parse` is pg's own parser of timestamps, which matches three regular
 * expressions for each text, the common forms of ISO 8601 are read without it.
 */
export function fasterParser(typeId: number, parse: Parse): Parse {
  return TIMESTAMP_TYPES.has(typeId) && isOfDriver(parse) ? (text) => dateOf(text) ?? parse(text) : parse
}

function isOfDriver(parse: Parse): boolean {
  // A parser that a user registers must be called for each value.
  if (parse.name !== 'parseDate') return false
  try {
    return PROBES.every((text) => {
      const date = parse(text)
      return date instanceof Date && date.getTime() === dateOf(text)?.getTime()
    })
  } catch {
    return false
  }
}

/**
 * Returns the time of a text such as `2024-02-29 12:00:00.123456+05:30`; without a time zone, in the zone of the process.
 * Returns undefined for other forms: years before 100 or after 9999, BC, infinity, other values of DateStyle.
 */
function dateOf(text: string): Date | undefined {
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7) - 1
  const day = digits(text, 8, 10)
  const hour = digits(text, 11, 13)
  const minute = digits(text, 14, 16)
  const second = digits(text, 17, 19)
  if (!(year >= 100 && month + day + hour + minute + second >= 0 && hasSeparators(text))) return undefined
  let at = 19
  let milliseconds = 0
  if (text.charCodeAt(at) === POINT) {
    const start = ++at
    while (at < text.length && isDigit(text.charCodeAt(at))) at++
    const power = POWERS_OF_TEN[at - start]
    if (at === start || power === undefined) return undefined
    // The quotient of two exact numbers is the nearest double, which is what pg reads from the decimal text.
    milliseconds = 1_000 * (digits(text, start, at) / power)
  }
  if (at === text.length) return new Date(year, month, day, hour, minute, second, milliseconds)
  const offset = offsetAt(text, at)
  if (offset === undefined) return undefined
  return new Date(Date.UTC(year, month, day, hour, minute, second, milliseconds) - offset)
}

function hasSeparators(text: string): boolean {
  return (
    text.charCodeAt(4) === MINUS &&
    text.charCodeAt(7) === MINUS &&
    text.charCodeAt(10) === SPACE &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON
  )
}

/** Returns the milliseconds of `+05` or `-03:30` at the end of the text; undefined for other forms. */
function offsetAt(text: string, at: number): number | undefined {
  const sign = text.charCodeAt(at)
  const hasMinutes = text.length === at + 6
  if ((sign !== PLUS && sign !== MINUS) || !(hasMinutes || text.length === at + 3)) return undefined
  if (hasMinutes && text.charCodeAt(at + 3) !== COLON) return undefined
  const minutes = digits(text, at + 1, at + 3) * 60 + (hasMinutes ? digits(text, at + 4, at + 6) : 0)
  if (!(minutes >= 0)) return undefined
  return (sign === MINUS ? -minutes : minutes) * 60_000
}

/** Returns the number that the digits from `start` to `end` mean; NaN if another character is among them. */
function digits(text: string, start: number, end: number): number {
  let value = 0
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (!isDigit(code)) return Number.NaN
    value = value * 10 + code - ZERO
  }
  return value
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9
}
