import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED } from '../../../src/contract/errors.js'
import { onAbort } from '../../../src/util/abort-listeners.js'
import { unavailable } from '../../common/source-errors.js'
import { WakeableTimer } from '../../common/wakeable-timer.js'
import { etcdError } from '../transport/etcd-errors.js'
import type { WatchResponse } from '../transport/etcd-messages.js'
import { lengthOf } from '../transport/received-entry.js'
import type { WatchStream } from '../transport/transport.js'

/** The stream is paused when this many messages are queued. */
const HIGH_WATER_MARK = 4
/** A queued message with fewer bytes takes the events of the next one. */
const JOINED_BYTES = 1 << 20
/** What an event needs besides them. Joining many more tiny ones would take time that grows with its square. */
const EVENT_BYTES = 256

export type InboxEvent = WatchResponse | 'progress-request' | 'silence'

/** A bounded queue of a watch's messages and of progress requests, for one consumer. */
export class WatchInbox {
  readonly #stream: WatchStream
  readonly #signal: AbortSignal
  readonly #messages: WatchResponse[] = []
  /** The bytes of the last message. */
  #lastBytes = 0
  #ending: Error | undefined
  #isProgressRequested = false
  #isPaused = false
  readonly #timer: WakeableTimer
  readonly #unlink: () => void

  constructor(stream: WatchStream, clock: Clock, signal: AbortSignal) {
    this.#stream = stream
    this.#signal = signal
    this.#timer = new WakeableTimer(clock)
    this.#unlink = onAbort(signal, () => this.#end(ABORTED))
    stream.listen({
      message: (response) => this.#enqueue(response),
      ended: (error) => this.#end(error === undefined ? unavailable('the server ended the watch') : etcdError(error)),
    })
  }

  addProgressRequest(): void {
    this.#isProgressRequested = true
    this.#timer.wake()
  }

  /** Requests a progress notification from the server: a message without events. */
  requestProgress(): void {
    this.#stream.requestProgress()
  }

  /** The next event. Rejects when the stream has ended and the queue is empty. */
  async next(silenceMs: number): Promise<InboxEvent> {
    this.#signal.throwIfAborted()
    if (this.#messages.length === 0 && this.#ending === undefined && !this.#isProgressRequested)
      await this.#timer.sleep(silenceMs)
    const message = this.#messages.shift()
    if (message !== undefined) {
      if (this.#isPaused && this.#messages.length < HIGH_WATER_MARK) {
        this.#isPaused = false
        this.#stream.resume()
      }
      return message
    }
    if (this.#ending !== undefined) throw this.#ending
    if (!this.#isProgressRequested) return 'silence'
    this.#isProgressRequested = false
    return 'progress-request'
  }

  /** `isLost`: the peer is silent. */
  close(isLost: boolean): void {
    this.#unlink()
    this.#ending ??= ABORTED
    this.#messages.length = 0
    this.#stream.cancel(isLost ? 'lost' : 'unwanted')
  }

  #enqueue(response: WatchResponse): void {
    if (this.#ending !== undefined) return
    const last = this.#messages.at(-1)
    const bytes = response.events.reduce((sum, { kv }) => sum + lengthOf(kv) + EVENT_BYTES, 0)
    if (last !== undefined && this.#lastBytes < JOINED_BYTES && continues(last, response)) {
      this.#messages[this.#messages.length - 1] = { ...last, events: last.events.concat(response.events) }
      this.#lastBytes += bytes
      return
    }
    this.#messages.push(response)
    this.#lastBytes = bytes
    if (!this.#isPaused && this.#messages.length >= HIGH_WATER_MARK) {
      this.#isPaused = true
      this.#stream.pause()
    }
    this.#timer.wake()
  }

  #end(error: Error): void {
    this.#ending ??= error
    this.#timer.wake()
  }
}

/** Whether both have only events, each of its own revisions: old servers send some events twice. */
function continues(last: WatchResponse, next: WatchResponse): boolean {
  const [before, after] = [last.events.at(-1), next.events[0]]
  if (before === undefined || after === undefined || before.kv.modRevision >= after.kv.modRevision) return false
  return (
    [last, next].every((each) => !each.isCreated && !each.isCanceled && !each.isFragment) &&
    last.header.clusterId === next.header.clusterId
  )
}
