import { growthOfEach, type Load, type SoakFigure } from './growth.js'
import { usedHeap } from './heap.js'
import { more, type Open, open } from './left.js'
import { Mirror, systemTime, type Time, virtualTime } from './mirror.js'
import { soakStuck } from './stuck.js'

export interface SoakSize {
  readonly events: number
  readonly reconnects: number
  readonly relists: number
  readonly joins: number
  /** Reconnects, relists and joins on the system's clock, with its timers. */
  readonly onSystemClock: number
  /** Changes behind a handler that is stuck. */
  readonly behindStuck: number
}

export interface SoakReport {
  readonly figures: readonly SoakFigure[]
  /** What there is more of than before: timers, listeners, handles; after much of something, and after `stop()`. */
  readonly left: readonly string[]
}

const KEYS = 1_000
const BATCH = 500
/** Few, so that a relist is quick. */
const KEYS_OF_FAULTS = 100
/** How many times faster the system's clock runs. */
const TIMES = 100

/** Pushes much through mirrors, and says what of it stays. */
export async function runSoak(size: SoakSize, progress: (text: string) => void = () => {}): Promise<SoakReport> {
  const figures: SoakFigure[] = []
  const left: string[] = []
  const during = async (what: string, time: Time, keys: number, soak: (mirror: Mirror) => Promise<void>) => {
    const before = await quiet(time)
    const mirror = new Mirror(time, keys)
    await mirror.start()
    mirror.follow()
    await time.pass(0)
    await soak(mirror)
    await mirror.stop()
    left.push(...more(before, await quiet(time)).map((more) => `${what}, after stop: ${more}`))
  }
  /** What is open when all is quiet is as much after many as after the first ones. */
  const measure = async (mirror: Mirror, load: Load): Promise<void> => {
    await load.step()
    const before = await quiet(mirror.time)
    figures.push(await growthOfEach(load, progress))
    left.push(...more(before, await quiet(mirror.time)).map((more) => `after ${load.what}s: ${more}`))
  }

  await during('events', virtualTime(), KEYS, async (mirror) => {
    const step = (): Promise<void> => mirror.events(BATCH)
    const counted = (): number => mirror.told
    await measure(mirror, { what: 'event', count: size.events, warmUp: 100_000, limit: 1, step, counted })
  })
  await during('faults', virtualTime(), KEYS_OF_FAULTS, async (mirror) => {
    await measure(mirror, { ...reconnecting(mirror), count: size.reconnects, warmUp: 5_000 })
    await measure(mirror, { ...relisting(mirror), count: size.relists, warmUp: 1_000 })
    await measure(mirror, { ...joining(mirror), count: size.joins, warmUp: 200 })
  })
  await during('the system clock', systemTime(TIMES), KEYS_OF_FAULTS, async (mirror) => {
    for (const { what, step } of [reconnecting(mirror), relisting(mirror), joining(mirror)]) {
      await step()
      const before = await quiet(mirror.time)
      for (let done = 0; done < size.onSystemClock; done++) {
        await step()
        progress(`${what} on the system clock: ${done + 1}`)
      }
      left.push(...(await stillMore(before, mirror.time)).map((more) => `after ${what}s on the system clock: ${more}`))
    }
  })
  const before = await quiet(virtualTime())
  figures.push(...(await soakStuck(size.behindStuck, progress)))
  left.push(...more(before, await quiet(virtualTime())).map((more) => `stuck, after stop: ${more}`))
  return { figures, left }
}

function reconnecting(mirror: Mirror) {
  const counted = (): number => mirror.informer.status.reconnects
  return { what: 'reconnect', limit: 1, step: () => mirror.reconnect(), counted }
}

function relisting(mirror: Mirror) {
  const counted = (): number => mirror.informer.status.relists
  const step = (): Promise<void> => (counted() % 2 === 0 ? mirror.relist() : mirror.relistAsked())
  return { what: 'relist', limit: 1, step, counted }
}

function joining(mirror: Mirror) {
  let joins = 0
  const step = async (): Promise<void> => {
    await mirror.join()
    joins++
  }
  return { what: 'join', limit: 5, step, counted: () => joins }
}

/** What is open once all that can be collected is, timers of a virtual clock among it. */
async function quiet(time: Time): Promise<Open> {
  await usedHeap()
  const { sleeping = 0 } = time
  return new Map([...open(), ...(sleeping > 0 ? [['sleep', sleeping] as const] : [])])
}

/** In real time something may be on its way just then: what is left for good is left at every look. */
async function stillMore(before: Open, time: Time): Promise<readonly string[]> {
  let left = more(before, await quiet(time))
  for (let look = 0; left.length > 0 && look < 50; look++) {
    await time.pass(10_000)
    left = more(before, await quiet(time))
  }
  return left
}
