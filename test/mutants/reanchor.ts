import { stripTypeScriptTypes } from 'node:module'
import { type Likeness, likest } from './align.js'
import type { Entry } from './format.js'
import type { Hunk, Mutant } from './mutant.js'
import { placesOf, type Sources, tokensOf } from './quotes.js'
import { shortened } from './shorten.js'

/** A place that resembles a quote less has nothing to do with it. */
const LEAST_SIMILARITY = 0.5

/** A file of mutants. */
export interface MutantFile {
  readonly path: string
  readonly text: string
  readonly entries: readonly Entry[]
}

export interface Reanchored {
  /** For `git apply`; empty if every quote is there once. */
  readonly patch: string
  /** What a reader of the patch has to know, and the quotes without a place. */
  readonly remarks: readonly string[]
}

/** Proposes a new quote, and its replacement, for each quote that its folder does not have exactly once. */
export function reanchored(files: readonly MutantFile[], sourcesUnder: (folder: string) => Sources): Reanchored {
  const remarks: string[] = []
  const patches = files.map(({ path, text, entries }) => {
    const edits = entries.flatMap(({ line, mutant, hunkLines }) =>
      mutant.hunks.flatMap((hunk, nth) => {
        const sources = sourcesUnder(mutant.folder)
        if (placesOf(hunk.quote, sources).length === 1) return []
        const { remark, proposal } = proposed(hunk, narrowed(mutant, sources), sources)
        remarks.push(`${path}:${line}: "${mutant.name}": ${remark}`)
        const lines = hunkLines[nth]
        return proposal === undefined || lines === undefined ? [] : [{ ...lines, lines: linesOf(proposal) }]
      }),
    )
    return patchOf(path, text, edits)
  })
  return { patch: patches.join(''), remarks }
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
    const proposal = shortened(place, replacement, sources)
    const where = [place, ...others].map(({ path, start }) => lineOf(path, likely, start)).join(', ')
    if (proposal === undefined) return { remark: `no longer quote is there once: ${where}` }
    return { remark: `the quote is there ${others.length + 1} times, the first is proposed: ${where}`, proposal }
  }
  const found = likest(quote, likely)
  if (found === undefined || found.similarity < LEAST_SIMILARITY) return { remark: `nothing resembles: ${quote}` }
  const position = lineOf(found.place.path, likely, found.place.start)
  const edit = carriedOver(quote, replacement, found, likely)
  const proposal = shortened(found.place, edit, sources)
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
  const kept = keptOf(
    was.map(({ text: each }) => each),
    becomes.map(({ text: each }) => each),
  )
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

/** For each word of the second list, the number of the same word in the first: a longest common subsequence. */
function keptOf(first: readonly string[], second: readonly string[]): (number | undefined)[] {
  const lengths = Array.from({ length: first.length + 1 }, () => new Array<number>(second.length + 1).fill(0))
  const length = (row: number, column: number): number => lengths[row]?.[column] ?? 0
  for (let row = first.length - 1; row >= 0; row--) {
    for (let column = second.length - 1; column >= 0; column--) {
      const isSame = first[row] === second[column]
      const longest = isSame
        ? length(row + 1, column + 1) + 1
        : Math.max(length(row + 1, column), length(row, column + 1))
      ;(lengths[row] as number[])[column] = longest
    }
  }
  const kept: (number | undefined)[] = second.map(() => undefined)
  for (let row = 0, column = 0; row < first.length && column < second.length; ) {
    if (first[row] === second[column]) kept[column++] = row++
    else if (length(row + 1, column) >= length(row, column + 1)) row++
    else column++
  }
  return kept
}

function linesOf({ quote, replacement }: Hunk): string[] {
  const added = replacement === '' ? [] : replacement.split('\n').map((line) => `+ ${line}`)
  return [...quote.split('\n').map((line) => `- ${line}`), ...added]
}

/** Lines from `from` until before `to`, counted from 0, that are replaced. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

const CONTEXT = 3

/** A unified diff. */
function patchOf(path: string, text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return ''
  const old = text.replace(/\n$/, '').split('\n')
  const groups: Edit[][] = []
  for (const edit of edits) {
    const group = groups.at(-1)
    if (group !== undefined && edit.from - (group.at(-1)?.to ?? 0) <= 2 * CONTEXT) group.push(edit)
    else groups.push([edit])
  }
  let grown = 0
  let patch = `--- a/${path}\n+++ b/${path}\n`
  for (const group of groups) {
    let at = Math.max(0, (group[0]?.from ?? 0) - CONTEXT)
    const [from, to] = [at, Math.min(old.length, (group.at(-1)?.to ?? 0) + CONTEXT)]
    const body: string[] = []
    let added = 0
    for (const edit of group) {
      body.push(...old.slice(at, edit.from).map((line) => ` ${line}`))
      body.push(...old.slice(edit.from, edit.to).map((line) => `-${line}`), ...edit.lines.map((line) => `+${line}`))
      added += edit.lines.length - (edit.to - edit.from)
      at = edit.to
    }
    body.push(...old.slice(at, to).map((line) => ` ${line}`))
    patch += `@@ -${from + 1},${to - from} +${from + 1 + grown},${to - from + added} @@\n${body.join('\n')}\n`
    grown += added
  }
  return patch
}
