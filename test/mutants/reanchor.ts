import { stripTypeScriptTypes } from 'node:module'
import { aligned, type Likeness, likest } from './align.js'
import type { Entry } from './format.js'
import type { Hunk, Mutant } from './mutant.js'
import { type Place, placesOf, type Sources, tokensOf } from './quotes.js'

/** A place that resembles a quote less has nothing to do with it. */
const LEAST_SIMILARITY = 0.5

export interface MutantFile {
  readonly path: string
  readonly text: string
  readonly entries: readonly Entry[]
}

export interface Reanchored {
  /** The new texts of the files that change, by path. */
  readonly texts: ReadonlyMap<string, string>
  /** What a reader of the changes has to know, and the quotes without a place. */
  readonly remarks: readonly string[]
}

/** Proposes a new quote, and its replacement, for each quote that its folder does not have exactly once. */
export function reanchored(files: readonly MutantFile[], sourcesUnder: (folder: string) => Sources): Reanchored {
  const remarks: string[] = []
  const texts = new Map<string, string>()
  for (const { path, text, entries } of files) {
    const lines = text.split('\n')
    // From the end, so that the earlier lines stay.
    for (const { line, mutant, hunkLines } of entries.toReversed()) {
      for (const [nth, hunk] of [...mutant.hunks.entries()].reverse()) {
        const sources = sourcesUnder(mutant.folder)
        if (placesOf(hunk.quote, sources).length === 1) continue
        const { remark, proposal } = proposed(hunk, narrowed(mutant, sources), sources)
        remarks.unshift(`${path}:${line}: "${mutant.name}": ${remark}`)
        const { from, to } = hunkLines[nth] ?? { from: 0, to: 0 }
        if (proposal === undefined) continue
        lines.splice(from, to - from, ...linesOf(proposal))
        texts.set(path, lines.join('\n'))
      }
    }
  }
  return { texts, remarks }
}

/** The only file that the other quotes of the mutant leave, or all. */
function narrowed({ hunks }: Mutant, sources: Sources): Sources {
  for (const { quote } of hunks) {
    const [place, another] = placesOf(quote, sources)
    if (place !== undefined && another === undefined) return new Map([[place.path, sources.get(place.path) ?? '']])
  }
  return sources
}

interface Proposed {
  readonly remark: string
  readonly proposal?: Hunk
}

function proposed({ quote, replacement }: Hunk, likely: Sources, sources: Sources): Proposed {
  const [place, ...others] = placesOf(quote, likely)
  if (place !== undefined) {
    const proposal = inLines(place, replacement, sources)
    const where = [place, ...others].map(({ path, start }) => lineOf(path, likely, start)).join(', ')
    if (proposal === undefined) return { remark: `no more lines are there once: ${where}` }
    return { remark: `the quote is there ${others.length + 1} times, the first is proposed: ${where}`, proposal }
  }
  const found = likest(quote, likely)
  if (found === undefined || found.similarity < LEAST_SIMILARITY) return { remark: `nothing resembles: ${quote}` }
  const position = lineOf(found.place.path, likely, found.place.start)
  const edit = carriedOver(quote, replacement, found, likely)
  const proposal = inLines(found.place, edit, sources)
  if (proposal === undefined) return { remark: `the quote is gone, and what resembles it is not unique: ${position}` }
  const percent = Math.round(100 * found.similarity)
  const text = sources.get(found.place.path) ?? ''
  const source = text.slice(0, found.place.start) + edit + text.slice(found.place.end)
  const isValid = isModule(source) ? '' : ', but the change does not parse there'
  return { remark: `the quote is gone; ${position} resembles it by ${percent} %${isValid}`, proposal }
}

function isModule(source: string): boolean {
  try {
    stripTypeScriptTypes(source)
    return true
  } catch {
    return false
  }
}

function lineOf(path: string, sources: Sources, start: number): string {
  return `${path}:${(sources.get(path) ?? '').slice(0, start).split('\n').length}`
}

/** Makes the change of the quote at the place that resembles it. What both have keeps the words of the place. */
function carriedOver(quote: string, replacement: string, { place, tokens, counterparts }: Likeness, sources: Sources) {
  const text = sources.get(place.path) ?? ''
  const [was, becomes] = [tokensOf(quote), tokensOf(replacement)]
  const renamed = new Map(
    was.flatMap(({ text: old }, nth) => {
      const now = tokens[counterparts[nth] ?? -1]?.text
      return now !== undefined && /^[\w$]+$/.test(old) && /^[\w$]+$/.test(now) ? [[old, now] as const] : []
    }),
  )
  let result = ''
  /** The last token of the place that the result has, if the last token of the result is one. */
  let last: number | undefined
  let end = 0
  const kept = aligned(becomes, was).map((at, nth) => (was[at ?? -1]?.text === becomes[nth]?.text ? at : undefined))
  becomes.forEach((token, nth) => {
    const counterpart = counterparts[kept[nth] ?? -1]
    const gap = replacement.slice(end, token.start)
    end = token.end
    const isNext = last !== undefined && counterpart !== undefined && kept[nth] === (kept[nth - 1] ?? NaN) + 1
    if (isNext && last !== undefined && counterpart !== undefined) {
      // With the text between the two tokens.
      result += text.slice(tokens[last]?.end, tokens[counterpart]?.end)
    } else result += gap + (tokens[counterpart ?? -1]?.text ?? renamed.get(token.text) ?? token.text)
    last = counterpart
  })
  return result
}

/** How many lines a quote may have on either side of the change. */
const REACH = 4

/** Quotes the lines of a place, and as many around it as make the quote unique. */
function inLines({ path, start, end }: Place, replacement: string, sources: Sources): Hunk | undefined {
  const text = sources.get(path) ?? ''
  let [from, to] = [start, end]
  for (let reach = 0; reach <= REACH; reach++) {
    from = text.lastIndexOf('\n', from - 1 - Math.sign(reach)) + 1
    to = text.indexOf('\n', to + Math.sign(reach))
    if (to < 0) to = text.length
    const [indentation = ''] = /^[ \t]*/.exec(text.slice(from)) ?? []
    const [quote, changed] = [text.slice(from, to), text.slice(from, start) + replacement + text.slice(end, to)].map(
      (lines) => lines.slice(indentation.length).replaceAll(`\n${indentation}`, '\n'),
    ) as [string, string]
    if (placesOf(quote, sources).length === 1) return { quote, replacement: changed }
  }
  return undefined
}

function linesOf({ quote, replacement }: Hunk): string[] {
  const added = replacement === '' ? [] : replacement.split('\n').map((line) => `+ ${line}`)
  return [...quote.split('\n').map((line) => `- ${line}`), ...added]
}
