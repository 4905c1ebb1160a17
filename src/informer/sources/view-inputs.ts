import { isEpochChange } from '../../contract/errors.js'
import type { Sink } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { Settle } from '../../util/deadline.js'
import { uniqueName } from '../../util/unique-name.js'
import type { SourceRunner } from './source-runner.js'

export interface ViewWork {
  readonly evaluations: number
  /** The number of changes of the inputs that it has followed. */
  readonly changes: number
  /** How often its function was called for them. */
  readonly followed: number
  /** The number of keys, values and ranges that the last call of each row has read. */
  readonly reads: number
}

/** What a view adds to an informer: its objects follow from other informers, its inputs, in the same commits. */
export interface ViewInputs {
  /** The sources that the inputs mirror, also below other views, by name. */
  readonly roots: ReadonlyMap<string, SourceRunner<unknown, unknown>>
  /** The version of each of them that the view includes. */
  readonly rootVersions: ReadonlyMap<string, Version>
  /** Whether the roots have no common history, or their number may change. Then the view has no version of its own. */
  readonly isOfSet: boolean
  /** Whether the view shows what its inputs show: not before the first evaluation, or after a failure. */
  readonly isCurrent: boolean
  /** Whether a commit of the view is one of all its results, not one that follows from a commit of an input. */
  readonly isListing: boolean
  readonly informers: readonly object[]
  readonly names: readonly string[]
  readonly work: ViewWork
  /** The names of the inputs that were not started, also of those below other views. */
  readonly unstarted: readonly string[]
  /** Why the view or an input is not ready; undefined if all are. */
  readonly flaw: string | undefined
  /** The sink of the reflector. Its lists evaluate the view, because the source of a view has no objects. */
  readonly sink: Sink<unknown>
  /** Rejects a wait for the first evaluation when it cannot begin. Returns a function that ends that. */
  followInputs(settle: Settle<void>): () => void
  /** Calls the listener when the status of an input changes, until `end`. */
  onStatus(listener: () => void): void
  end(): void
}

interface InputOfView {
  readonly input: {
    readonly sources: {
      readonly isOfSet: boolean
      readonly roots: ReadonlyMap<string, SourceRunner<unknown, unknown>>
    }
  }
}

/** Several roots without one history have no common version, and those of a set, whose members change. */
export function haveSeveralRoots(inputs: readonly InputOfView[]): boolean {
  const histories = new Set(Array.from(runnersOf(inputs), (root) => root.member?.members ?? root))
  return inputs.some(({ input }) => input.sources.isOfSet) || histories.size !== 1
}

/** Empty if an input has no version, or another one than the others. Undefined if they have no common history. */
export function commonVersion(inputs: readonly InputOfView[], versions: readonly Version[]): Version | undefined {
  if (haveSeveralRoots(inputs)) return undefined
  if (versions.includes('') || inputs.some(lacksRoot)) return ''
  const [{ source } = {}] = runnersOf(inputs)
  const [first = '', ...others] = versions
  const includes = (at: Version, mark: Version): boolean => source?.hasReached?.(at, mark) === true
  try {
    return others.every((each) => each === first || (includes(first, each) && includes(each, first))) ? first : ''
  } catch (error) {
    if (isEpochChange(error)) return '' // One that has left its history shows an earlier epoch.
    throw error
  }
}

/** A view has the version of its roots that have not left their history. */
function lacksRoot({ input }: InputOfView): boolean {
  const roots = [...input.sources.roots.values()]
  return roots.length > 1 && roots.some(({ hasLeft }) => hasLeft)
}

/** A name that several roots have gets a suffix. */
export function rootsOf(inputs: readonly InputOfView[]): ReadonlyMap<string, SourceRunner<unknown, unknown>> {
  const roots = new Map<string, SourceRunner<unknown, unknown>>()
  for (const runner of runnersOf(inputs)) roots.set(uniqueName(runner.name, roots), runner)
  return roots
}

function runnersOf(inputs: readonly InputOfView[]): ReadonlySet<SourceRunner<unknown, unknown>> {
  return new Set(inputs.flatMap(({ input }) => [...input.sources.roots.values()]))
}
