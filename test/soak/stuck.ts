import type { Controller, SubscribeOptions } from '../../src/index.js'
import { growthInAll, type SoakFigure } from './growth.js'
import { Mirror, virtualTime } from './mirror.js'

const KEYS = 1_000
const BATCH = 500
const LIMIT_BYTES = 1e6

/** Handles everything, and once it is told to get stuck all but what it is stuck at. */
class Stuck {
  readonly isStuckAt: (key: string) => boolean
  mayHang = false
  at = 0

  constructor(isStuckAt: (key: string) => boolean) {
    this.isStuckAt = isStuckAt
  }

  readonly handle = ({ key }: { readonly key: string }): Promise<void> | undefined => {
    if (!this.mayHang || !this.isStuckAt(key)) return undefined
    this.at++
    return new Promise(() => {})
  }

  subscribe({ informer }: Mirror, options: SubscribeOptions<unknown>): void {
    const { handle } = this
    informer.subscribe({ add: handle, update: handle, delete: handle }, options)
  }

  reconcile({ informer }: Mirror): Controller {
    return informer.reconcile(async (key) => this.handle({ key }), { concurrency: 4 })
  }
}

const everywhere = (): boolean => true
const atOneKey = (key: string): boolean => key === 'k7'

type Way = readonly [what: string, isStuckAt: (key: string) => boolean, (stuck: Stuck, mirror: Mirror) => void]

const ways: readonly Way[] = [
  ['latest', everywhere, (stuck, mirror) => stuck.subscribe(mirror, { delivery: 'latest' })],
  ['every', everywhere, (stuck, mirror) => stuck.subscribe(mirror, { delivery: 'every' })],
  ['latest, 4 keys at a time', everywhere, (s, mirror) => s.subscribe(mirror, { delivery: 'latest', concurrency: 4 })],
  ['every, 4 keys at a time', everywhere, (s, mirror) => s.subscribe(mirror, { concurrency: 4 })],
  ['latest, at one of 4 keys', atOneKey, (s, mirror) => s.subscribe(mirror, { delivery: 'latest', concurrency: 4 })],
  // As many changes as its capacity wait behind the key, each with its object.
  ['every, at one of 4 keys', atOneKey, (s, mirror) => s.subscribe(mirror, { concurrency: 4, capacity: KEYS / 2 })],
  ['controller', everywhere, (stuck, mirror) => void stuck.reconcile(mirror)],
  ['controller, at one of 4 keys', atOneKey, (stuck, mirror) => void stuck.reconcile(mirror)],
]

/** What it costs that a handler never settles, from before it got stuck, however long it is. */
export async function soakStuck(count: number, progress: (text: string) => void): Promise<readonly SoakFigure[]> {
  const figures: SoakFigure[] = []
  for (const [way, isStuckAt, follow] of ways) {
    const mirror = new Mirror(virtualTime(), KEYS)
    await mirror.start()
    const stuck = new Stuck(isStuckAt)
    follow(stuck, mirror)
    let pushed = 0
    const load = {
      what: `change behind a stuck handler (${way})`,
      count,
      warmUp: 50_000,
      limit: LIMIT_BYTES,
      step: async () => {
        await mirror.events(BATCH)
        pushed += BATCH
      },
      counted: () => pushed,
    }
    const begin = () => (stuck.mayHang = true)
    figures.push(await growthInAll(load, begin, progress))
    if (stuck.at === 0) throw new Error(`${way}: the handler never got stuck`)
    await mirror.stop()
  }
  return figures
}
