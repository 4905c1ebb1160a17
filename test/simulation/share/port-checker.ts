import { type FollowerMessage, type ShareMessage, WINDOW_BYTES } from '../../../serving/share/port-messages.js'

/** The last frame of a watch may be an error, which does not wait for the reader. */
const ERROR_BYTES = 400

interface PortEvents {
  violate(message: string): void
  crossed(): void
  /** Called with the size of each snapshot that the share sends. */
  opened(size: number): void
  /** Called when a watch has to wait for its reader. */
  waits(): void
}

/** Counts what a port carries, and checks the bytes that are on their way. */
export class PortChecker {
  lists = 0
  /** The snapshots in the memory of the share, and those that the worker has received. */
  readonly given: WeakRef<object>[] = []
  readonly taken: WeakRef<object>[] = []
  readonly #events: PortEvents
  /** By watch: the bytes that were sent and not reported as read. */
  readonly #unread = new Map<number, number>()
  /** By watch: the bytes that the worker has received and not reported as read. */
  readonly #unreported = new Map<number, number>()

  constructor(events: PortEvents) {
    this.#events = events
  }

  sent(from: 'share' | 'worker', message: unknown): void {
    if (from === 'share') this.#sentByShare(message as ShareMessage)
    else this.#sentByWorker(message as FollowerMessage)
    this.#events.crossed()
  }

  received(by: 'share' | 'worker', message: unknown): void {
    if (by === 'share') {
      const { type, id, ...more } = message as FollowerMessage
      if (type === 'read' && 'bytes' in more) this.#unread.set(id, (this.#unread.get(id) ?? 0) - more.bytes)
    } else {
      const received = message as ShareMessage
      if (received.type === 'frame') add(this.#unreported, received.id, received.bytes.length)
      if (received.type === 'opened') note(this.taken, received)
    }
    this.#events.crossed()
  }

  #sentByShare(message: ShareMessage): void {
    if (message.type === 'opened') {
      note(this.given, message)
      this.#events.opened(message.snapshot?.size ?? 0)
    }
    if (message.type !== 'frame') return
    const { id, bytes } = message
    const unread = this.#unread.get(id) ?? 0
    if (unread >= WINDOW_BYTES && bytes.length > ERROR_BYTES)
      this.#events.violate(`a frame of ${bytes.length} bytes is sent behind ${unread} bytes that were not read`)
    this.#unread.set(id, unread + bytes.length)
    if (unread + bytes.length >= WINDOW_BYTES) this.#events.waits()
  }

  #sentByWorker(message: FollowerMessage): void {
    if (message.type === 'request' && /^\/list(\?|$)/.test(message.path)) this.lists++
    if (message.type !== 'read') return
    const left = (this.#unreported.get(message.id) ?? 0) - message.bytes
    if (left < 0) this.#events.violate(`${-left} bytes more are reported as read than were received`)
    this.#unreported.set(message.id, left)
  }
}

function add(counts: Map<number, number>, id: number, by: number): void {
  counts.set(id, (counts.get(id) ?? 0) + by)
}

function note(snapshots: WeakRef<object>[], { snapshot }: Extract<ShareMessage, { readonly type: 'opened' }>): void {
  for (const piece of snapshot?.blocks.pieces ?? []) snapshots.push(new WeakRef(piece))
  for (const [, bytes] of snapshot?.sections ?? []) snapshots.push(new WeakRef(bytes))
}
