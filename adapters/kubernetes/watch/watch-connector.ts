import type { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import type { WatchLease } from '../history/cluster-guard.js'
import { assertHistory, readHead } from '../history/server-head.js'
import { type ApiStatus, apiError } from '../http/api-error.js'
import type { ApiRequests } from '../http/api-requests.js'
import type { ApiSession } from '../http/api-session.js'
import type { OpenedStream } from './watch-stream.js'

export interface ResumeVersions {
  /** Everything up to this version was delivered, except for further deletes of this version. */
  readonly after: Version
  /** The version in the request: that before `after` if such deletes are possible. */
  readonly from: Version
}

/** Opens the streams of one watch. Each answer is checked to come from the cluster that the watch began with. */
export class WatchConnector {
  readonly session: (signal: AbortSignal) => ApiSession
  readonly #requests: ApiRequests
  readonly #lease: WatchLease

  constructor(session: (signal: AbortSignal) => ApiSession, requests: ApiRequests, lease: WatchLease) {
    this.session = session
    this.#requests = requests
    this.#lease = lease
  }

  /** Opens a stream of all events after `from`. A resumed watch checks that the server's history reaches `after`. */
  async open(
    session: ApiSession,
    { after, from }: ResumeVersions,
    timeoutSeconds: number,
    isResumed: boolean,
  ): Promise<OpenedStream> {
    const { continueOn } = this.#lease
    session.assertOpen()
    const head = isResumed ? await assertHistory(session, this.#requests, after, continueOn) : undefined
    const body = await session.open(this.#requests.watch({ resourceVersion: from, timeoutSeconds }))
    continueOn(session.clusterId)
    return { body, head }
  }

  /** Returns the server's current version, read over a connection of its own. */
  async head(): Promise<Version> {
    const { signal, continueOn } = this.#lease
    const session = this.session(signal)
    try {
      const head = await readHead(session, this.#requests)
      continueOn(session.clusterId)
      return head
    } finally {
      session.close()
    }
  }

  error(status: ApiStatus): SourceError {
    return apiError(status, this.#requests.watch({}))
  }
}
