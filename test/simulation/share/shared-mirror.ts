import type { MessagePort } from 'node:worker_threads'
import type { MemorySource } from '../../../adapters/memory/index.js'
import { type SharedServing, serveShared } from '../../../serving/share/index.js'
import { createInformer, type IndexBuilder, type Informer } from '../../../src/index.js'
import { internalsOf } from '../../../src/informer/internals.js'
import type { SimClock, SleepCounter } from '../system/sim-clock.js'
import { quiet } from '../upstream/follower.js'
import { type Item, type Tenant, textOf, type UpstreamStates } from '../upstream/upstream-states.js'
import type { Stream } from '../workload/random-decisions.js'

export const shareIndexes = (ix: IndexBuilder<Item>) => ({
  tenant: ix.equal(({ tenant }) => tenant),
  n: ix.ordered(({ n }) => n),
})

export type ShareIndexes = ReturnType<typeof shareIndexes>

export interface MirrorOptions {
  readonly clock: SimClock
  readonly random: Stream
  readonly source: MemorySource<Item>
  readonly states: UpstreamStates
  readonly heartbeatMs: number
  readonly historyBytes: number
  readonly onAccessLost: 'clear' | 'keep'
  /** Called when the objects are packed. */
  packed(): void
}

/** The informer of the main thread, and its share. */
export class SharedMirror {
  readonly informer: Informer<Item, ShareIndexes>
  /** The clock of the share alone. */
  readonly clock: SleepCounter
  /** The number of pinned versions that were not closed. */
  openPins = 0
  /** Whether its objects were deleted, and all users of the informer have heard of it. */
  hasBeenCleared = false
  isClosed = false
  isStopped = false
  readonly #share: SharedServing<ShareIndexes>
  readonly #states: UpstreamStates

  constructor({ clock, random, source, states, packed, ...options }: MirrorOptions) {
    const { heartbeatMs, historyBytes, onAccessLost } = options
    this.#states = states
    this.informer = createInformer({
      source,
      clock: clock.facade(),
      random,
      logger: quiet,
      indexes: shareIndexes,
      onAccessLost,
    })
    this.informer.on('error', () => {})
    const mirror = internalsOf(this.informer)?.objects
    if (mirror === undefined) throw new Error('the informer cannot be packed')
    const pin = mirror.pin.bind(mirror)
    Object.assign(mirror, {
      pin: () => {
        packed()
        this.openPins++
        const pinned = pin()
        const close = pinned.close.bind(pinned)
        let isOpen = true
        return Object.assign(pinned, {
          close: () => {
            if (isOpen) this.openPins--
            isOpen = false
            close()
          },
        })
      },
    })
    this.clock = clock.facade()
    this.#share = serveShared(this.informer, { heartbeatMs, historyBytes, clock: this.clock })
  }

  /** The index of the state that the informer shows; -1 if there is none. */
  get shown(): number {
    return this.#states.indexOf('all', textOf(this.informer.entries())) ?? -1
  }

  get isCleared(): boolean {
    return this.informer.status.isSynced && this.informer.size === 0
  }

  port(tenant: Tenant | undefined): MessagePort {
    return this.#share.port(tenant === undefined ? {} : { where: { tenant } })
  }

  close(): Promise<void> {
    this.isClosed = true
    return this.#share.close()
  }

  stop(): Promise<void> {
    this.isStopped = true
    return this.informer.stop()
  }
}
