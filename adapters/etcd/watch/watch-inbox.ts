import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED } from '../../../src/contract/errors.js'
import { onAbort } from '../../shared/on-abort.js'
import { unavailable } from '../../shared/source-errors.js'
import { WakeableTimer } from '../../shared/wakeable-timer.js'
import { etcdError } from '../transport/etcd-errors.js'
import type { WatchResponse } from '../transport/etcd-messages.js'
import type { WatchStream } from '../transport/transport.js'

/** So many messages wait at most before the server is held up. */
const HIGH_WATER_MARK = 4

/** What comes next: a message, a wish to know where the server is, or nothing for so long. */
export type InboxEvent = WatchResponse | 'progress-request' | 'silence'

/** The messages of a stream, one after the other, for whoever asks for the next; and who asks may be nudged. */
export class WatchInbox {
  readonly #stream: WatchStream
  readonly #signal: AbortSignal
  readonly #messages: WatchResponse[] = []
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

  /** Asks the server how far it has told; it answers with a message without events. */
  requestProgress(): void {
    this.#stream.requestProgress()
  }

  /** Rejects where the stream has ended, once what came before has been taken. */
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
    this.#messages.push(response)
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
