import type { Hunk } from './mutant.js'
import { type Place, placesOf, type Sources, type Token, tokensOf } from './quotes.js'

/** How far a quote may extend beyond the changed tokens, in tokens. */
const REACH = 60

/** Tokens from `from` until before `to`. */
interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Returns the change of a place with the best quote that the sources have once: a short one, which begins and ends at
 * the ends of a line or an expression if that is not much longer.
 */
export function shortened(place: Place, replacement: string, sources: Sources): Hunk | undefined {
  const text = sources.get(place.path) ?? ''
  const changed = text.slice(0, place.start) + replacement + text.slice(place.end)
  const [before, after] = [tokensOf(text), tokensOf(changed)]
  const rating = new Rating(text, before)
  for (const span of rating.best(changedSpan(text, before, after))) {
    const quote = sliceOf(text, before, span)
    if (placesOf(quote, sources).length !== 1) continue
    const to = after.length - (before.length - span.to)
    return { quote, replacement: sliceOf(changed, after, { from: span.from, to }) }
  }
  return undefined
}

/** The tokens of the first text that the second one does not have; none if it only has more. */
function changedSpan(text: string, before: readonly Token[], after: readonly Token[]): Span {
  const most = Math.min(before.length, after.length)
  let from = 0
  while (from < most && before[from]?.text === after[from]?.text) from++
  let end = 0
  while (end < most - from && before.at(-1 - end)?.text === after.at(-1 - end)?.text) end++
  const to = before.length - end
  if (after.length - end > from) return { from, to }
  // Any copy of a repeated text can be left out: preferably whole lines.
  for (let by = 0; by <= from; by++) {
    if (startsLine(text, before[from - by])) return { from: from - by, to: to - by }
    if (before[from - by - 1]?.text !== before[to - by - 1]?.text) break
  }
  return { from, to }
}

function startsLine(text: string, token: Token | undefined): boolean {
  return token !== undefined && /(^|\n)[ \t]*$/.test(text.slice(Math.max(0, token.start - 200), token.start))
}

/** The text of a span, without the indentation of its first line. */
function sliceOf(text: string, tokens: readonly Token[], { from, to }: Span): string {
  const [first, last] = [tokens[from], tokens[to - 1]]
  if (first === undefined || last === undefined || to <= from) return ''
  const line = text.lastIndexOf('\n', first.start - 1) + 1
  const [indentation = ''] = /^[ \t]*/.exec(text.slice(line)) ?? []
  return text.slice(first.start, last.end).replaceAll(`\n${indentation}`, '\n')
}

/** A shorter quote is hard to understand. */
const ENOUGH = 18
const QUOTATION_MARKS = '\'"`'
const PAIRS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

/** Rates spans as quotes. */
class Rating {
  readonly #text: string
  readonly #tokens: readonly Token[]

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text
    this.#tokens = tokens
  }

  /** The spans around this one, the best quote first. */
  best({ from, to }: Span): Span[] {
    const spans: { readonly span: Span; readonly cost: number }[] = []
    for (let start = from; start >= Math.max(0, from - REACH); start--) {
      for (let end = to; end <= Math.min(this.#tokens.length, to + REACH); end++) {
        const span = { from: start, to: end }
        if (end > start) spans.push({ span, cost: this.#costOf(span) })
      }
    }
    return spans.sort((a, b) => a.cost - b.cost).map(({ span }) => span)
  }

  #costOf({ from, to }: Span): number {
    const [first, last] = [this.#tokens[from] as Token, this.#tokens[to - 1] as Token]
    const [before, after] = [this.#text.charAt(first.start - 1), this.#text.charAt(last.end)]
    const quote = this.#text.slice(first.start, last.end)
    const size = quote.replaceAll(/\s+/g, ' ').length
    let cost = size + 1.5 * Math.max(ENOUGH - size, 0) + 20 * this.#unmatched(from, to)
    // It begins inside of a chain of members or at the arguments of a call, or ends there.
    if (before === '.' || ('([.'.includes(first.text) && /\w/.test(before))) cost += 20
    if ('.(['.includes(after)) cost += 20
    if (!/[\w$([{'"`!#/@<]/.test(first.text)) cost += 20
    if (!/[\w$)\]}'"`>]/.test(last.text)) cost += 25
    const starts = startsLine(this.#text, first)
    const ends = /^[ \t]*(\n|$)/.test(this.#text.slice(last.end, last.end + 100))
    if (starts || QUOTATION_MARKS.includes(before)) cost -= 8
    if (ends || QUOTATION_MARKS.includes(after)) cost -= 8
    const lines = quote.split('\n').length - 1
    return lines === 0 ? cost : cost + 60 * lines + (starts ? 0 : 15) + (ends ? 0 : 15)
  }

  /** The brackets and quotation marks of a span without their partners. */
  #unmatched(from: number, to: number): number {
    const open: string[] = []
    const marks = new Map<string, number>()
    let count = 0
    for (let at = from; at < to; at++) {
      const { text } = this.#tokens[at] as Token
      if (text === '(' || text === '[' || text === '{') open.push(text)
      else if (text in PAIRS && open.pop() !== PAIRS[text]) count++
      else if (QUOTATION_MARKS.includes(text)) marks.set(text, (marks.get(text) ?? 0) + 1)
    }
    for (const times of marks.values()) count += times % 2
    return count + open.length
  }
}
