import { systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { structuralEqual } from '../../src/store/structural-equal.js'
import { changedFields } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import type { Row } from '../sources/source-types.js'

/** How often the source is listed at most. */
const ROUNDS = 8
/** The pause between two lists, in milliseconds. */
const PAUSE_MS = 1_000
/** How long the mirror may take to reach the version of a list, in milliseconds. */
const REACH_MS = 30_000

/** `missing`: only the source has the object. `extra`: only the mirror has it. */
export interface Difference {
  readonly key: string
  readonly difference: 'missing' | 'extra' | 'different'
  /** The fields that differ, if both have the object. */
  readonly fields?: readonly string[]
}

export interface Comparison {
  /** The version of the list; undefined if the source has no versions that can be compared. */
  readonly version: Version | undefined
  /** The number of objects that the source has. */
  readonly objects: number
  readonly differences: readonly Difference[]
  /** How many objects could not be compared, because they changed during each comparison. */
  readonly busy: number
}

interface Suspect extends Difference {
  /** The object of the mirror. */
  readonly mirrored: Row | undefined
}

/**
 * Compares a mirror with its source, which `readFresh` lists independently. An object that changed during a comparison is compared
 * again with the next list. A difference counts if two lists in a row show it, and the mirror did not write the object between them.
 */
export async function compareMirror(
  mirror: Informer<Row>,
  source: ListerWatcher<Row>,
  readFresh: () => Promise<Informer<Row>>,
  signal: AbortSignal,
): Promise<Comparison> {
  let last: Comparison | undefined
  let suspects: ReadonlyMap<string, Suspect> = new Map()
  for (let round = 1; round <= ROUNDS; round++) {
    if (round > 1) await systemClock.sleep(PAUSE_MS, signal)
    using before = mirror.snapshot()
    const at = versionOf(mirror)
    const fresh = await readFresh()
    const version = versionOf(fresh)
    if (!(await hasReached(mirror, version, signal))) continue
    if (at !== undefined && version !== undefined && source.hasReached?.(version, at) === false) continue // An old list.
    const found = differences(mirror, fresh)
    const steady = found.filter(({ key, mirrored }) => before.get(key) === mirrored)
    const proven = steady.filter(({ key, mirrored }) => suspects.get(key)?.mirrored === mirrored && suspects.has(key))
    last = {
      version: source.hasReached === undefined ? undefined : version,
      objects: fresh.size,
      differences: proven.map(({ mirrored: _, ...difference }) => difference),
      busy: found.length - proven.length,
    }
    if (last.busy === 0) return last
    suspects = new Map(steady.map((each) => [each.key, each]))
  }
  if (last === undefined) throw new CliError(`none of ${ROUNDS} lists had a version that could be compared`)
  return last
}

function versionOf(rows: Informer<Row>): Version | undefined {
  const [version] = rows.versions.values()
  return version
}

/**
 * Waits until the mirror has reached the version. Returns false if the history of the source changed meanwhile. A mirror that does not
 * reach it in time is compared too: it may differ in just what it has not received.
 */
async function hasReached(mirror: Informer<Row>, version: Version | undefined, signal: AbortSignal): Promise<boolean> {
  if (version === undefined) return true
  try {
    await mirror.waitFor(version, { timeoutMs: REACH_MS, signal })
    return true
  } catch (error) {
    if (error instanceof TypeError) return true // The source cannot compare versions.
    if (!(error instanceof SourceError)) throw error
    if (error.code === 'TIMEOUT') return true
    if (error.code === 'EPOCH_CHANGED') return false
    throw error
  }
}

function differences(mirror: Informer<Row>, fresh: Informer<Row>): Suspect[] {
  const found: Suspect[] = []
  for (const [key, object] of fresh.entries()) {
    const mirrored = mirror.get(key)
    if (mirror.invalid.has(key) && fresh.invalid.has(key)) continue
    if (mirrored === undefined) found.push({ key, difference: 'missing', mirrored })
    else if (!structuralEqual(mirrored, object))
      found.push({ key, difference: 'different', fields: changedFields(mirrored, object), mirrored })
  }
  for (const [key, mirrored] of mirror.entries())
    if (!fresh.has(key) && !fresh.invalid.has(key)) found.push({ key, difference: 'extra', mirrored })
  return found
}
