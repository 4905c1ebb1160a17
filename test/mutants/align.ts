import { type Place, type Sources, type Token, tokensOf } from './quotes.js'

export interface Likeness {
  readonly place: Place
  readonly tokens: readonly Token[]
  /** For each token of the quote, the number of the token in the place that stands for it, if there is one. */
  readonly counterparts: readonly (number | undefined)[]
  readonly similarity: number
}

/** What a token adds or costs that has no counterpart. */
const GAP = -2
/** What two tokens cost that stand for each other: two words may be one that was renamed. */
const RENAMED = -1
const UNLIKE = -3

const isWord = (token: string): boolean => /\w/.test(token)

const weightOf = (token: string): number => (isWord(token) ? 4 : 1)

/** Returns the place whose tokens resemble those of the quote most. */
export function likest(quote: string, sources: Sources): Likeness | undefined {
  const wanted = tokensOf(quote)
  const perfect = wanted.reduce((sum, { text }) => sum + weightOf(text), 0)
  let best: { readonly path: string; readonly score: number } | undefined
  for (const [path, text] of sources) {
    const { score } = new Alignment(wanted, tokensOf(text))
    if (score > (best?.score ?? 0)) best = { path, score }
  }
  if (best === undefined) return undefined
  const { path, score } = best
  const { tokens, counterparts } = new Alignment(wanted, tokensOf(sources.get(path) ?? '')).trace()
  const [first, last] = [tokens[0], tokens.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return { place: { path, start: first.start, end: last.end }, tokens, counterparts, similarity: score / perfect }
}

/** For each token of the first list, the number of the token in the second one that stands for it, if there is one. */
export function aligned(first: readonly Token[], second: readonly Token[]): (number | undefined)[] {
  const { from, counterparts } = new Alignment(first, second).trace()
  return counterparts.map((each) => (each === undefined ? undefined : from + each))
}

/** All of a quote beside any part of a file. */
class Alignment {
  readonly #quote: readonly Token[]
  readonly #file: readonly Token[]
  /** For the first tokens of the quote: the score of the best alignment that ends at each token of the file. */
  readonly #scores: Int32Array[]

  constructor(quote: readonly Token[], file: readonly Token[]) {
    this.#quote = quote
    this.#file = file
    this.#scores = [new Int32Array(file.length + 1)]
    for (let row = 1; row <= quote.length; row++) this.#scores.push(this.#next(row))
  }

  get score(): number {
    return (this.#scores.at(-1) as Int32Array).reduce((most, each) => Math.max(most, each))
  }

  #next(row: number): Int32Array {
    const above = this.#scores[row - 1] as Int32Array
    const scores = new Int32Array(this.#file.length + 1)
    scores[0] = row * GAP
    for (let column = 1; column < scores.length; column++) {
      scores[column] = Math.max(
        at(above, column - 1) + this.#likeness(row, column),
        at(above, column) + GAP,
        at(scores, column - 1) + GAP,
      )
    }
    return scores
  }

  #likeness(row: number, column: number): number {
    const [wanted = '', found = ''] = [this.#quote[row - 1]?.text, this.#file[column - 1]?.text]
    if (wanted === found) return weightOf(wanted)
    return isWord(wanted) && isWord(found) ? RENAMED : UNLIKE
  }

  /** The part of the file of the best alignment. */
  trace(): Pick<Likeness, 'tokens' | 'counterparts'> & { readonly from: number } {
    const counterparts: (number | undefined)[] = this.#quote.map(() => undefined)
    let row = this.#quote.length
    const last = this.#scores[row] as Int32Array
    const end = last.reduce((best, score, column) => (score > at(last, best) ? column : best), 0)
    let column = end
    while (row > 0) {
      const [scores, above] = [this.#scores[row] as Int32Array, this.#scores[row - 1] as Int32Array]
      const score = at(scores, column)
      if (column > 0 && score === at(above, column - 1) + this.#likeness(row, column)) {
        row--
        column--
        counterparts[row] = column
      } else if (score === at(above, column) + GAP) row--
      else column--
    }
    return {
      from: column,
      tokens: this.#file.slice(column, end),
      counterparts: counterparts.map((each) => (each === undefined ? undefined : each - column)),
    }
  }
}

const at = (scores: Int32Array, column: number): number => scores[column] as number
