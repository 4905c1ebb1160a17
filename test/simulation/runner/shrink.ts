import type { Invariant } from '../system/scenario.js'
import { runOne } from './interleaved-runner.js'
import type { Kind, Line, Outcome } from './schedule.js'

/** A failing schedule without unnecessary decisions. */
export interface Shrunk {
  readonly kind: Kind
  readonly seed: number
  readonly invariant: Invariant
  readonly message: string
  readonly only: readonly string[]
  readonly story: readonly string[]
}

const MAX_RUNS = 3_000

/**
 * Removes decisions, larger parts first, as long as the same invariant is violated. Returns undefined if the schedule
 * does not fail.
 */
export async function shrink(
  seed: number,
  { kind = 'one', only }: { readonly kind?: Kind; readonly only?: readonly string[] } = {},
): Promise<Shrunk | undefined> {
  const first = await runOne(seed, { kind, only })
  const { violation } = first
  if (violation === undefined) return undefined
  let left = first.taken
  let runs = 0
  const without = async (from: number, size: number): Promise<Outcome | undefined> => {
    runs++
    const outcome = await runOne(seed, { kind, only: [...left.slice(0, from), ...left.slice(from + size)] })
    return outcome.violation?.invariant === violation.invariant ? outcome : undefined
  }
  for (let size = Math.ceil(left.length / 2), hasShrunk = false; runs < MAX_RUNS; ) {
    for (let from = 0; from < left.length && runs < MAX_RUNS; ) {
      const outcome = await without(from, size)
      if (outcome === undefined) from += size
      else {
        left = outcome.taken
        hasShrunk = true
      }
    }
    if (size === 1 && !hasShrunk) break
    size = Math.max(1, Math.floor(size / 2))
    hasShrunk = size > 1
  }
  return withStory(seed, kind, left)
}

async function withStory(seed: number, kind: Kind, only: readonly string[]): Promise<Shrunk | undefined> {
  const lines: Line[] = []
  const { violation } = await runOne(seed, { kind, only, onEvent: (line) => lines.push(line) })
  if (violation === undefined) return undefined
  const { invariant, message } = violation
  return { kind, seed, invariant, message, only, story: storyOf(lines) }
}

/** Time, event, state: one line each. */
export function storyOf(lines: readonly Line[]): string[] {
  const width = Math.min(70, Math.max(0, ...lines.map(({ event }) => event.length)))
  let last = ''
  return lines.map(({ at, event, state }) => {
    const now = state === last ? '' : state
    last = state
    return `${at.toFixed(0).padStart(8)} ms  ${event.padEnd(width)}  ${now}`.trimEnd()
  })
}
