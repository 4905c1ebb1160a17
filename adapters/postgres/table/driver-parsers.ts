export type Parse = (text: string) => unknown

/** timestamp and timestamptz. */
const TIMESTAMP_TYPES: ReadonlySet<number> = new Set([1114, 1184])
/** Texts of the forms that `dateOf` reads. Their results tell the parser of pg from a user's parser of the same name. */
const TIMESTAMPS = [
  '2001-02-03 04:05:06.789012+00',
  '1999-12-31 23:59:59-08:30',
  '2024-02-29 12:00:00.57',
  '0100-01-01 00:00:00+14',
]
/** The parsers of pg that return each text as it is: those of bigint, and of all types without a parser. */
const KEEPING: ReadonlySet<string> = new Set(['parseBigInteger', 'noParse'])
const TEXTS = ['', '0', '-42', '9007199254740993', '0012', ' A text,\twith \\ and é. ', '{"a":1}', 'NaN']

export const keepText: Parse = (text) => text

/**
 * Returns a parser with the results of `parse`. Some parsers of pg are slow, and are replaced: those of timestamps match
 * three regular expressions, and those that return the text match one or convert it. A parser that a user registers is
 * called for each value.
 */
export function fasterParser(typeId: number, parse: Parse): Parse {
  if (KEEPING.has(parse.name) && hasResults(parse, TEXTS, keepText)) return keepText
  if (!TIMESTAMP_TYPES.has(typeId) || parse.name !== 'parseDate') return parse
  return hasResults(parse, TIMESTAMPS, timeOf) ? (text) => dateOf(text) ?? parse(text) : parse
}

/** Whether the parser is the driver's own parser of JSON, whose results contain no part of the text. */
export function isJsonParse(parse: Parse): boolean {
  return parse === JSON.parse || parse.name === 'bound parse'
}

function hasResults(parse: Parse, texts: readonly string[], resultOf: Parse): boolean {
  try {
    return texts.every((text) => {
      const result = parse(text)
      return (result instanceof Date ? result.getTime() : result) === resultOf(text)
    })
  } catch {
    return false
  }
}

function timeOf(text: string): number | undefined {
  return dateOf(text)?.getTime()
}

const POWERS_OF_TEN = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
const [SPACE, PLUS, MINUS, POINT, ZERO, COLON] = [0x20, 0x2b, 0x2d, 0x2e, 0x30, 0x3a]

/**
 * Returns the time of a text such as `2024-02-29 12:00:00.123456+05:30`; without a time zone, in the zone of the process.
 * Returns undefined for other forms: years before 100 or after 9999, BC, infinity, other values of DateStyle.
 */
function dateOf(text: string): Date | undefined {
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  const second = twoDigits(text, 17)
  if (!(year >= 100 && month + day + hour + minute + second >= 0 && hasSeparators(text))) return undefined
  let at = 19
  let milliseconds = 0
  if (text.charCodeAt(at) === POINT) {
    const start = ++at
    let value = 0
    while (at < text.length && isDigit(text.charCodeAt(at))) value = 10 * value + text.charCodeAt(at++) - ZERO
    const power = POWERS_OF_TEN[at - start]
    if (at === start || power === undefined) return undefined
    // The quotient of two exact numbers is the nearest double, which is what pg reads from the decimal text.
    milliseconds = 1_000 * (value / power)
  }
  if (at === text.length) return new Date(year, month - 1, day, hour, minute, second, milliseconds)
  const offset = offsetAt(text, at)
  if (offset === undefined) return undefined
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second, milliseconds) - offset)
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
  const minutes = twoDigits(text, at + 1) * 60 + (hasMinutes ? twoDigits(text, at + 4) : 0)
  if (!(minutes >= 0)) return undefined
  return (sign === MINUS ? -minutes : minutes) * 60_000
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at)
  const ones = text.charCodeAt(at + 1)
  return isDigit(tens) && isDigit(ones) ? 10 * (tens - ZERO) + ones - ZERO : Number.NaN
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9
}
