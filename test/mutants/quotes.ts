import { filesUnder, textOf } from '../support/sources.js'

/** Texts by the paths of their files. */
export type Sources = ReadonlyMap<string, string>

const known = new Map<string, Sources>()

export function sourcesUnder(folder: string): Sources {
  let sources = known.get(folder)
  if (sources === undefined) {
    const paths = ['.ts', '.tsx'].flatMap((ending) => filesUnder([folder], ending))
    sources = new Map(paths.map((path) => [path, textOf(path)]))
    known.set(folder, sources)
  }
  return sources
}

/** A part of a file. */
export interface Place {
  readonly path: string
  readonly start: number
  readonly end: number
}

/** A word, an operator or another sign of a text. */
export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
}

const WORD = /[\w$]/

export function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(/#?[\w$]+|\.{3}|\?\.|[-=<>!&|?+*/%^~]+|[^\s\w$]/g), ({ 0: token, index }) => ({
    text: token,
    start: index,
    end: index + token.length,
  }))
}

/** Returns the places that have the tokens of a quote, with any white space between them: a formatter changes none. */
export function placesOf(quote: string, sources: Sources): Place[] {
  const tokens = tokensOf(quote).map(({ text }) => text)
  const pattern = patternOf(tokens)
  const rarest = tokens.reduce((longest, token) => (token.length > longest.length ? token : longest), '')
  const places: Place[] = []
  for (const [path, text] of sources) {
    if (rarest === '' || !text.includes(rarest)) continue
    for (const { 0: found, index } of text.matchAll(pattern))
      places.push({ path, start: index, end: index + found.length })
  }
  return places
}

function patternOf(tokens: readonly string[]): RegExp {
  let pattern = ''
  let last = ''
  for (const token of tokens) {
    const isWord = WORD.test(token)
    if (last === '') pattern += isWord ? '(?<![\\w$#])' : ''
    else pattern += isWord && WORD.test(last) ? '\\s+' : '\\s*'
    pattern += token.replaceAll(/[^\w]/g, '\\$&')
    last = token
  }
  return new RegExp(WORD.test(last) ? `${pattern}(?![\\w$])` : pattern, 'g')
}
