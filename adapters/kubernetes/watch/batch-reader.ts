import type { WatchBatch, WatchEvent } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { Decoder } from '../decode/decoder.js'
import { compareVersions } from '../history/resource-version.js'
import type { ApiStatus } from '../http/api-error.js'

/** Makes batches of the lines of a watch, and knows up to where everything has been line. */
export class BatchReader<T> {
  readonly #decoder: Decoder<T>
  #events: WatchEvent<T>[] = []
  #version: Version
  #streamVersion: Version
  #hasMoved = false
  #failure: ApiStatus | undefined

  /** Nothing up to `after` is wanted; what is read begins at `from`, which may be before it. */
  constructor(decoder: Decoder<T>, after: Version, from: Version) {
    this.#decoder = decoder
    this.#version = after
    this.#streamVersion = from
  }

  /** Of everything that is line. */
  get version(): Version {
    return this.#version
  }

  /** How far the lines have come by themselves: who is ahead of them knows more. */
  get streamVersion(): Version {
    return this.#streamVersion
  }

  /** How many events wait to be taken. */
  get size(): number {
    return this.#events.length
  }

  /** With what the server ended the watch; nothing after it counts. */
  get failure(): ApiStatus | undefined {
    return this.#failure
  }

  read(bytes: Buffer, isWhole: boolean): void {
    if (this.#failure !== undefined) return
    const line = this.#decoder.line(bytes, isWhole)
    if (line.type === 'error') {
      this.#failure = line.status
      return
    }
    const { version } = line
    if (version !== undefined && compareVersions(version, this.#streamVersion) > 0) this.#streamVersion = version
    const isNew = version === undefined || compareVersions(version, this.#version) > 0
    if (line.type === 'bookmark') {
      if (isNew) this.#version = line.version
      this.#hasMoved = true // Also where it says nothing new, it is a sign of life.
      return
    }
    if (!isNew) return
    this.#events.push(line.event)
    this.#hasMoved = true
    if (version !== undefined) this.#version = version
  }

  /** What has been read since the last time; undefined where that was nothing. */
  take(): WatchBatch<T> | undefined {
    if (!this.#hasMoved) return undefined
    const events = this.#events
    this.#events = []
    this.#hasMoved = false
    return { events, version: this.#version }
  }
}
