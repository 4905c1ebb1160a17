import type { WatchBatch, WatchEvent } from '../../src/source.js'
import type { Version } from '../../src/version.js'
import type { ApiStatus } from './api-errors.js'
import type { Decoder } from './decoder.js'
import { compareVersions } from './kubernetes-version.js'
import { LineSlicer } from './lines.js'

/** Makes batches of the bytes of a watch, and knows up to where everything has been told. */
export class BatchReader<T> {
  readonly #decoder: Decoder<T>
  readonly #lines: LineSlicer
  #events: WatchEvent<T>[] = []
  #version: Version
  #hasMoved = false
  #failure: ApiStatus | undefined

  constructor(decoder: Decoder<T>, after: Version, maxObjectBytes: number) {
    this.#decoder = decoder
    this.#version = after
    this.#lines = new LineSlicer((bytes, isWhole) => this.#line(bytes, isWhole), maxObjectBytes)
  }

  /** Of everything that has been read. */
  get version(): Version {
    return this.#version
  }

  /** How many events wait to be taken. */
  get size(): number {
    return this.#events.length
  }

  /** With what the server ended the watch; nothing after it counts. */
  get failure(): ApiStatus | undefined {
    return this.#failure
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  /** What has been read since the last time; undefined where that was nothing. */
  take(): WatchBatch<T> | undefined {
    if (!this.#hasMoved) return undefined
    const events = this.#events
    this.#events = []
    this.#hasMoved = false
    return { events, version: this.#version }
  }

  #line(bytes: Buffer, isWhole: boolean): void {
    if (this.#failure !== undefined) return
    const told = this.#decoder.line(bytes, isWhole)
    if (told.type === 'error') {
      this.#failure = told.status
      return
    }
    const { version } = told
    const isNew = version === undefined || compareVersions(version, this.#version) > 0
    if (told.type === 'bookmark') {
      if (isNew) this.#version = told.version
      this.#hasMoved = true // Also where it says nothing new, it is a sign of life.
      return
    }
    if (!isNew) return
    this.#events.push(told.event)
    this.#hasMoved = true
    if (version !== undefined) this.#version = version
  }
}
