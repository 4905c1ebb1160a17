import { systemClock } from '../../src/contract/clock.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { CliError } from '../output/cli-error.js'
import type { Row } from '../sources/source-types.js'

const ROUNDS = 8
const PAUSE_MS = 1_000

export interface MirrorView extends Disposable {
  readonly version: Version | undefined
  readonly sourceName: string | undefined
  has(key: string): boolean
  isInvalid(key: string): boolean
  keys(): Iterable<string>
  /** A value that changes whenever the object is written; undefined if there is none. */
  writeOf(key: string): unknown
  isEqual(key: string, object: Row): boolean
  differingFields(key: string, object: Row): Promise<readonly string[]>
}

export interface Mirror {
  view(): Promise<MirrorView>
  /**
   * Waits until the mirror has reached the version, and returns its objects then. A mirror that does not reach it in
   * time is returned too: it may differ in just what it has not received. Returns undefined if the history of the
   * source changed meanwhile.
   */
  viewAfter(version: Version): Promise<MirrorView | undefined>
}

/** `missing`: only the source has the object. `extra`: only the mirror has it. */
export interface Difference {
  readonly key: string
  readonly difference: 'missing' | 'extra' | 'different'
  readonly fields?: readonly string[]
}

export interface Comparison {
  /** The version of the list; undefined if the source has no versions that can be compared. */
  readonly version: Version | undefined
  readonly otherSource: string | undefined
  readonly objects: number
  /** Whether the source has no objects, also none that cannot be decoded. */
  readonly isEmpty: boolean
  readonly differing: number
  readonly differences: readonly Difference[]
  /** How many objects could not be compared, because they changed during each comparison. */
  readonly busy: number
}

interface Suspect extends Difference {
  readonly write: unknown
}

interface Compared {
  readonly mirror: Mirror
  readonly source: ListerWatcher<Row>
  readonly readFresh: () => Promise<Informer<Row>>
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * Compares a mirror with its source, which `readFresh` lists independently. An object that changed during a comparison
 * is compared again with the next list. A difference counts if two lists in a row show it, and the mirror did not write
 * the object between them.
 */
export async function compareMirror({ mirror, source, readFresh, limit, signal }: Compared): Promise<Comparison> {
  let last: Comparison | undefined
  let otherSource: string | undefined
  let suspects: ReadonlyMap<string, Suspect> = new Map()
  for (let round = 1; round <= ROUNDS; round++) {
    if (round > 1) await systemClock.sleep(PAUSE_MS, signal)
    using before = await mirror.view()
    const fresh = await readFresh()
    const [version] = fresh.versions.values()
    const at = before.version
    otherSource = otherSourceOf(before, source)
    const isComparable = source.hasReached !== undefined && version !== undefined
    using after = await (isComparable ? mirror.viewAfter(version) : mirror.view())
    if (after === undefined) continue
    if (isComparable && at !== undefined && source.hasReached?.(version, at) === false) continue // An old list.
    const found = differences(after, fresh)
    const steady = found.filter(({ key, write }) => before.writeOf(key) === write)
    const proven = steady.filter(({ key, write }) => suspects.get(key)?.write === write && suspects.has(key))
    last = {
      version: isComparable ? version : undefined,
      otherSource,
      objects: fresh.size,
      isEmpty: fresh.size + fresh.invalid.size === 0,
      differing: proven.length,
      differences: await Promise.all(proven.slice(0, limit).map((each) => withFields(each, after, fresh))),
      busy: found.length - proven.length,
    }
    if (last.busy === 0) return last
    suspects = new Map(steady.map((each) => [each.key, each]))
  }
  if (last !== undefined) return last
  const reason = otherSource === undefined ? '' : `: ${otherSource}`
  throw new CliError(`none of ${ROUNDS} lists had a version that could be compared${reason}`)
}

function otherSourceOf({ sourceName }: MirrorView, { name }: ListerWatcher<Row>): string | undefined {
  const isOther = sourceName !== undefined && sourceName !== name
  return isOther ? `the mirror reads ${sourceName}, and this command ${name}` : undefined
}

function differences(mirror: MirrorView, fresh: Informer<Row>): Suspect[] {
  const found: Suspect[] = []
  const add = (key: string, difference: Difference['difference']): void => {
    found.push({ key, difference, write: mirror.writeOf(key) })
  }
  for (const [key, object] of fresh.entries()) {
    if (mirror.isInvalid(key) && fresh.invalid.has(key)) continue
    if (!mirror.has(key)) add(key, 'missing')
    else if (!mirror.isEqual(key, object)) add(key, 'different')
  }
  for (const key of mirror.keys()) if (!fresh.has(key) && !fresh.invalid.has(key)) add(key, 'extra')
  return found
}

async function withFields({ key, difference }: Suspect, mirror: MirrorView, fresh: Informer<Row>): Promise<Difference> {
  const object = fresh.get(key)
  if (difference !== 'different' || object === undefined) return { key, difference }
  return { key, difference, fields: await mirror.differingFields(key, object) }
}
