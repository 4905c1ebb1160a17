import type { WatchBatch, WatchEvent } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { Decoder } from '../decode/decoder.js'
import { compareVersions } from '../history/resource-version.js'
import type { ApiStatus } from '../http/api-error.js'

/** Decodes the lines of a watch into batches, and knows the version up to which everything is delivered. */
export class BatchReader<T> {
  readonly #decoder: Decoder<T>
  #events: WatchEvent<T>[] = []
  #version: Version
  #streamVersion: Version
  #deletedAt: Version | undefined
  #hasMoved = false
  #failure: ApiStatus | undefined

  /** Skips everything up to `after`. The lines begin at `from`, which may be before it. */
  constructor(decoder: Decoder<T>, after: Version, from: Version) {
    this.#decoder = decoder
    this.#version = after
    this.#streamVersion = from
  }

  /** The version of all batches. */
  get version(): Version {
    return this.#version
  }

  /** The version of the lines that were read. The follower itself may be ahead of it. */
  get streamVersion(): Version {
    return this.#streamVersion
  }

  /** The version of the last line that deletes an object. */
  get deletedAt(): Version | undefined {
    return this.#deletedAt
  }

  /** The number of events that were not taken. */
  get size(): number {
    return this.#events.length
  }

  /** The status with which the server ended the watch. Later lines are ignored. */
  get failure(): ApiStatus | undefined {
    return this.#failure
  }

  /** Reads the bytes of a line, or its text if that is ASCII. An empty line is skipped. */
  read(bytes: Buffer | string, isWhole: boolean): void {
    if (this.#failure !== undefined || bytes.length === 0) return
    const line = this.#decoder.line(bytes, isWhole)
    if (line.type === 'error') {
      this.#failure = line.status
      return
    }
    const { version } = line
    if (version !== undefined && compareVersions(version, this.#streamVersion) > 0) this.#streamVersion = version
    const order = version === undefined ? 1 : compareVersions(version, this.#version)
    // Objects that expire together, such as Events, are deleted in one revision. A repeated delete has no effect.
    const isNew = order > 0 || (order === 0 && line.type === 'delete')
    if (line.type === 'delete') this.#deletedAt = version
    if (line.type === 'bookmark') {
      if (isNew) this.#version = line.version
      this.#hasMoved = true // A bookmark is delivered even if its version is not new.
      return
    }
    if (!isNew) return
    this.#events.push(line.event)
    this.#hasMoved = true
    if (version !== undefined) this.#version = version
  }

  /** Returns the events since the last call; undefined if nothing was read. */
  take(): WatchBatch<T> | undefined {
    if (!this.#hasMoved) return undefined
    const events = this.#events
    this.#events = []
    this.#hasMoved = false
    return { events, version: this.#version }
  }
}
