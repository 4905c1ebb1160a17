import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ServerName } from '../servers/index.js'
import type { Kind } from '../simulation/runner/schedule.js'
import type { ActionKind } from '../simulation/workload/fault-plan.js'
import { root } from '../support/sources.js'
import { placesOf, sourcesUnder } from './quotes.js'

export interface Hunk {
  readonly quote: string
  readonly replacement: string
}

/** One defect, as edits of the production source. */
export interface Mutant {
  readonly name: string
  /** The promise that it breaks. */
  readonly breaks: string
  /** The folder that has each quote exactly once, all of them in one file. */
  readonly folder: string
  readonly hunks: readonly Hunk[]
  /** The schedules that have to find it. Default: those of one source. */
  readonly kind?: Kind
  /** In how many schedules the simulator has to kill it. Default 1000. */
  readonly maxSchedules?: number
  /** The test that kills it, if the simulator does not. */
  readonly onlyBy?: NamedTest
  /** The server that this test needs. The same test against other servers is not run. */
  readonly server?: ServerName
  /** A fault that its schedule needs: without this fault it behaves as the original. */
  readonly needs?: ActionKind
  /** Why it behaves as the original, if it always does. */
  readonly equivalent?: string
}

/** The file of a test under test/, and the test's name or a part of it; `…` stands for any text. */
export interface NamedTest {
  readonly test: string
  readonly named: string
}

/** Matches the names of tests that have this text. */
export function patternOf(named: string): RegExp {
  const parts = named.split(/ ?… ?/)
  return new RegExp(parts.map((part) => part.replaceAll(/[^\w\s]/g, '\\$&')).join('.*'))
}

/** A file, and its text with the defect in it. */
export interface Defect {
  readonly path: string
  readonly source: string
}

/** Returns the file with the defect in it. Throws if there are no or several files and places for it. */
export function mutated({ name, folder, hunks }: Mutant): Defect {
  const sources = sourcesUnder(folder)
  const places = hunks.map(({ quote, replacement }) => {
    const found = placesOf(quote, sources)
    const [place] = found
    if (place !== undefined && found.length === 1) return { ...place, replacement }
    throw new Error(`mutant "${name}": in ${folder}/ there is ${found.length} times, not once: ${quote}`)
  })
  const [{ path } = { path: '' }] = places
  if (places.some((each) => each.path !== path))
    throw new Error(`mutant "${name}": its quotes are in several files: ${places.map((each) => each.path).join(', ')}`)
  let source = sources.get(path) ?? ''
  // From the end, so that the earlier places stay.
  for (const { start, end, replacement } of places.sort((a, b) => b.start - a.start))
    source = source.slice(0, start) + replacement + source.slice(end)
  if (places.some(({ end }, nth) => end > (places[nth - 1]?.start ?? Infinity)))
    throw new Error(`mutant "${name}": its quotes overlap`)
  return { path: join(root, path), source }
}

/** Makes this thread load the defect instead of the original from now on. */
export function mutate({ path, source }: Defect): void {
  const { href } = pathToFileURL(path)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      return url === href ? { ...loaded, source } : loaded
    },
  })
}
