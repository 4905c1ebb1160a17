import { isEpochChange, SourceError } from '../../src/contract/errors.js'
import type { ListContext, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { isBehindUpstream, REFUSAL_MS, type UpstreamVersions } from '../shared/upstream-versions.js'
import { type HttpVersion, hasReached, parseVersion } from './http-version.js'

/** An epoch that a server has ended, until the next watch. */
interface EndedEpoch {
  /** The feed that was followed. Its server knows that it has ended. */
  readonly feed: string
  /** The last version of the epoch that the mirror has. */
  readonly shown: HttpVersion
  readonly endedAt: number
}

/** The epochs that servers have ended, by mirror. Other servers may not have detected their ends yet. */
export class EndedEpochs {
  readonly #byMirror = new WeakMap<object, EndedEpoch>()
  readonly #compare: UpstreamVersions | undefined

  constructor(compare: UpstreamVersions | undefined) {
    this.#compare = compare
  }

  /** The query of a list request: the server is asked whether it has ended the feed. */
  queryFor({ mirror = this }: SourceContext): string {
    const ended = this.#byMirror.get(mirror)
    return ended === undefined ? '' : `?ended=${ended.feed}`
  }

  /**
   * Throws `EPOCH_CHANGED` for a list of another epoch than that of the version which readers have seen. The next list
   * may be of a server that is in the earlier epoch.
   */
  assertSameEpoch(listed: Version, context: ListContext): void {
    const { floor } = context
    const shown = floor === undefined ? undefined : parseVersion(floor)
    if (floor === undefined || shown === undefined || this.#compare === undefined) return
    try {
      hasReached(listed, floor, this.#compare)
    } catch (error) {
      throw this.ended(error, context, shown.feed, floor)
    }
  }

  /**
   * Throws `STALE_LIST` for the list of another server that may be an earlier state of the ended epoch. A restored
   * upstream may count versions from a smaller number, and only the server that has ended the epoch knows that. It may
   * not respond any more, so the time of the refusals is limited.
   */
  assertNotBehind(listed: HttpVersion, { mirror = this, clock }: SourceContext): void {
    const ended = this.#byMirror.get(mirror)
    if (ended === undefined || clock.now() - ended.endedAt >= REFUSAL_MS) return
    if (!isBehindUpstream(listed.upstream, ended.shown.upstream, this.#compare)) return
    const message = 'the list is of another server, which may not have detected the end of the epoch yet'
    throw new SourceError(message, { code: 'STALE_LIST' })
  }

  /** A watch begins: the mirror has a list. */
  watching({ mirror = this }: SourceContext): void {
    this.#byMirror.delete(mirror)
  }

  /**
   * The changes of a feed ended with an error, which is returned. `shown` is the version that the mirror has; undefined
   * if it has none, or is listing since the end of an epoch.
   */
  ended(error: unknown, { mirror = this, clock }: SourceContext, feed: string, shown: Version | undefined): unknown {
    const version = shown === undefined ? this.#byMirror.get(mirror)?.shown : parseVersion(shown)
    if (isEpochChange(error) && version !== undefined)
      this.#byMirror.set(mirror, { feed, shown: version, endedAt: clock.now() })
    return error
  }
}
