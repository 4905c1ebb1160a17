import type { Version } from '../../../src/contract/version.js'
import { parseJson } from '../../common/json-depth.js'
import { propertiesOf } from '../../common/properties.js'
import { byteLinesOf, type LineBlock } from '../decode/line-splitter.js'
import { scanMetadata } from '../decode/metadata-scanner.js'
import { compareVersions, isResourceVersion } from '../history/resource-version.js'
import { isExpired, statusOf } from '../http/api-error.js'
import type { IDLE } from '../http/response-body.js'
import type { WatchStream } from './watch-stream.js'

/** A server sends a bookmark two seconds before it ends a stream, so that this length brings it soon. */
export const PROBE_SECONDS = 3
/** A probe may end this number of milliseconds late. */
const PROBE_GRACE_MS = 2_000

interface ProbeStart {
  readonly startedAt: number
  readonly openedAt: number
  /** Everything up to this version was delivered before. The probe may repeat the last of it. */
  readonly after: Version
}

/** A short watch: its bookmark shows how far the server is, its events what the shared watch has missed. */
export class BookmarkProbe {
  readonly after: Version
  readonly deadline: number
  readonly #startedAt: number
  readonly stream: WatchStream
  #hasEvents = false

  constructor(stream: WatchStream, { startedAt, openedAt, after }: ProbeStart) {
    this.after = after
    this.deadline = openedAt + PROBE_SECONDS * 1_000 + PROBE_GRACE_MS
    this.#startedAt = startedAt
    this.stream = stream
  }

  /** The lines that have arrived; undefined if the probe has ended, failed or reached its deadline. */
  take(): Promise<readonly LineBlock[] | undefined | typeof IDLE> {
    return this.stream.body.isReady ? this.stream.take(0).catch(() => undefined) : Promise.resolve(undefined)
  }

  /** Returns the lines up to the first one that is not an event, and that line. */
  accept(blocks: readonly LineBlock[]): {
    readonly lines: readonly LineBlock[]
    readonly failed: LineBlock | undefined
  } {
    const lines = blocks.flatMap(({ bytes, isWhole }) =>
      (isWhole ? byteLinesOf(bytes) : [bytes]).map((line): LineBlock => ({ bytes: line, isWhole })),
    )
    const types = lines.map(typeOf)
    const invalidAt = types.indexOf(undefined)
    const accepted = lines.slice(0, invalidAt === -1 ? undefined : invalidAt)
    this.#hasEvents ||= accepted.some(({ bytes }, at) => types[at] !== 'BOOKMARK' && this.#isNew(bytes))
    return { lines: accepted, failed: invalidAt === -1 ? undefined : lines[invalidAt] }
  }

  /**
   * Whether `version` is below the head that the server had before the probe. A server sends no newer bookmark if a
   * selector leaves out the last object that it knows. A server without a watch cache never sends one.
   */
  isInconclusive(version: Version | undefined): boolean {
    const { head } = this.stream
    return version !== undefined && head !== undefined && compareVersions(version, head) < 0
  }

  /** Whether the other stream is half open: the probe brought events, and it had no data since then. */
  provesHalfOpen(lastDataAt: number): boolean {
    return this.#hasEvents && lastDataAt < this.#startedAt
  }

  #isNew(line: Buffer): boolean {
    const { resourceVersion } = scanMetadata(line, true)
    return !isResourceVersion(resourceVersion) || compareVersions(resourceVersion, this.after) > 0
  }
}

/** Whether the line is the error of a server that cannot resume a watch at its version any more. */
export function isExpiry({ bytes }: LineBlock): boolean {
  try {
    const { type, object } = propertiesOf(parseJson(bytes.toString()))
    return type === 'ERROR' && isExpired(statusOf(object))
  } catch {
    return false
  }
}

const EVENT_TYPE = /^\s*\{\s*"type"\s*:\s*"(ADDED|MODIFIED|DELETED|BOOKMARK)"/
const EVENT_TYPE_BYTES = 64

/** Returns undefined for an error, and for a line that is not an event. */
function typeOf({ bytes }: LineBlock): string | undefined {
  return EVENT_TYPE.exec(bytes.subarray(0, EVENT_TYPE_BYTES).toString())?.[1]
}
