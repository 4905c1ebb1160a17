import { isEpochChange, SourceError } from '../../src/contract/errors.js'
import type { SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { OptionCheck } from '../../src/util/validate-options.js'
import { hasMethods } from './properties.js'

/**
 * Compares versions of the upstream source. Its `ListerWatcher` has these methods.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 * import { postgresSource } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const upstream = postgresSource({ connect: () => new pg.Client(), table: 'orders' }) // Only compares.
 * const orders = createInformer({ source: httpSource<Order>({ url: 'https://api.example/mirror/orders', upstream }) })
 * await orders.start().synced()
 * await orders.waitFor(mark) // The mark of a transaction of Postgres.
 * ```
 */
export interface UpstreamVersions {
  /** Returns whether `at` includes everything up to `mark`. */
  hasReached(at: Version, mark: Version): boolean
  /** Returns whether `mark` certainly belongs to an epoch that began after that of `at`. */
  isLaterEpoch?(at: Version, mark: Version): boolean
}

/** The upstream version of a mirror of several sources, which have a version each. */
export const SEVERAL_SOURCES = '*'

/** After the end of an epoch, a list that is behind it is refused for this time, in milliseconds. */
export const REFUSAL_MS = 30_000

export const isUpstream: OptionCheck = (value) =>
  hasMethods(value, 'hasReached') ? undefined : 'must have the method hasReached'

export interface UpstreamComparison {
  readonly compare: UpstreamVersions | undefined
  /** The upstream version of the follower; empty if the mirror has none at the time. */
  readonly at: string
  readonly mark: string
  /** Whether the mark is a version of a follower. Then it is of another history than the one of this follower. */
  readonly isOfFollower: boolean
  /** Names the source of this follower in messages. */
  readonly of: string
}

/** Whether a follower includes everything up to a mark that only upstream versions can be compared with. */
export function hasReachedUpstream({ compare, at, mark, isOfFollower, of }: UpstreamComparison): boolean {
  if (compare !== undefined && isComparable(at) && isComparable(mark)) return compare.hasReached(at, mark)
  if (isOfFollower)
    throw new SourceError(`the version is of another history than that of ${of}`, { code: 'EPOCH_CHANGED' })
  // The mirror has no version until it has listed again: its objects were deleted because access was lost.
  if (compare !== undefined && at === '') return false
  const reason =
    compare === undefined
      ? 'the option "upstream" allows versions of the upstream source'
      : 'the mirror has several sources'
  throw new SourceError(`the version is not one of ${of} (${reason})`, { code: 'PROTOCOL' })
}

/** Whether a version can be compared with that of a mark, and is earlier. */
export function isBehindUpstream(at: string, mark: string, compare: UpstreamVersions | undefined): boolean {
  try {
    return !hasReachedUpstream({ compare, at, mark, isOfFollower: true, of: 'a follower' })
  } catch {
    return false // Without a comparison, or of another epoch.
  }
}

export function isLaterUpstreamEpoch({
  compare,
  at,
  mark,
}: Pick<UpstreamComparison, 'compare' | 'at' | 'mark'>): boolean {
  return isComparable(at) && isComparable(mark) && compare?.isLaterEpoch?.(at, mark) === true
}

export function isComparable(upstream: string): boolean {
  return upstream !== '' && upstream !== SEVERAL_SOURCES
}

/** What mirrors show of an epoch that has ended, until their next watch. Another server may still be in it. */
export class EndedEpochs<S> {
  readonly #byMirror = new WeakMap<object, { readonly shown: S; readonly endedAt: number }>()

  shownBy({ mirror = this }: SourceContext): S | undefined {
    return this.#byMirror.get(mirror)?.shown
  }

  /** Returns what a list must not be behind. The time is limited: the server that knows of the end may be gone. */
  refusedBy(context: SourceContext): S | undefined {
    const { endedAt = -Infinity } = this.#byMirror.get(context.mirror ?? this) ?? {}
    return context.clock.now() - endedAt >= REFUSAL_MS ? undefined : this.shownBy(context)
  }

  /** A watch begins: the mirror has a list. */
  watching({ mirror = this }: SourceContext): void {
    this.#byMirror.delete(mirror)
  }

  /** Returns the error of a list or a watch. If it is the end of an epoch, it notes what the mirror shows of it. */
  ended(error: unknown, { mirror = this, clock }: SourceContext, shown: S | undefined): unknown {
    if (isEpochChange(error) && shown !== undefined) this.#byMirror.set(mirror, { shown, endedAt: clock.now() })
    return error
  }
}
