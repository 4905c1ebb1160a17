import { hashOf } from '../simulation/workload/random-decisions.js'

/**
 * The gate runs a third of the mutants, schedules and campaigns, and of the test files that `npm test` leaves out, and one
 * version of each server: `LISTWATCH_DRAW` is the id of its commit, which determines them. `npm test` has `first`: the first
 * campaign, version and form of each source. Without the variable everything runs.
 */
const PARTS = 3
/** With it, the three parts have about the same number of mutants, and their test files take about the same time. */
const SALT = '143'

/** The third of this run: 0, 1 or 2. That of `what` says nothing about the third of anything else. */
function part(what: string): number | undefined {
  const id = process.env['LISTWATCH_DRAW'] ?? ''
  if (id === '' || id === 'first') return undefined
  if (/^[0-9a-f]{8,40}$/.test(id)) return hashOf(`${what} ${id}`) % PARTS
  throw new Error(`LISTWATCH_DRAW must be the id of a commit, "first" or empty, got ${id}`)
}

/** Whether this run has the mutant or the file of this name. Three runs with different thirds have every one. */
export function isDrawn(name: string): boolean {
  const drawn = part('name')
  return drawn === undefined || hashOf(`${SALT} ${name}`) % PARTS === drawn
}

/** Returns the campaigns, the versions of a server or the forms of a source that this run has, at least one. */
export function drawn<T>(all: readonly T[], what: 'version' | 'form' = 'version'): readonly T[] {
  if (process.env['LISTWATCH_DRAW'] === 'first') return all.slice(0, 1)
  const drawn = part(what)
  const parts = Math.min(PARTS, all.length)
  return drawn === undefined ? all : all.filter((_, at) => at % parts === drawn % parts)
}

/** Returns the first schedule of this run and their number. Three runs with different thirds have all of them. */
export function drawnSchedules(first: number, count: number): { readonly first: number; readonly count: number } {
  const drawn = part('schedule')
  if (drawn === undefined) return { first, count }
  const [from, to] = [drawn, drawn + 1].map((third) => Math.round((count * third) / PARTS)) as [number, number]
  return { first: first + from, count: to - from }
}
