import { dateOf } from './timestamps.js'

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

/** Returns the text. */
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
