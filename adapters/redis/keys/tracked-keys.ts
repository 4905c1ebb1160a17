import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../shared/source-errors.js'
import { WakeableTimer } from '../../shared/wakeable-timer.js'
import type { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import type { RedisReply } from '../connection/client.js'
import type { ClusterRoute } from '../connection/cluster-route.js'
import { isNotAllowed } from '../connection/redis-errors.js'
import { type Session, type SessionOptions, textOf } from '../connection/session.js'
import { KeyReader, namesOf, type Values } from './key-reader.js'

/** Where Redis tells which keys are no longer what they were. */
const CHANNEL = '__redis__:invalidate'
/** How many are asked for at once, where they are small. */
const MOST = 10_000
/** How often what was written meanwhile is read before all of it is asked for at once, however large. */
const PORTIONED = 5
/** How often it is read until it is left at what it was at several moments. */
const MAX_ROUNDS = 50

export interface TrackedKeysOptions extends SessionOptions {
  /** What all keys begin with. */
  readonly prefix: string
  readonly maxKeys: number
  readonly responseSize: ResponseSizeLimit
}

/**
 * Plain keys that begin alike, on a server that tells when one of them is written: CLIENT TRACKING in broadcast mode, whose
 * messages come over a connection of their own. That one is also how a moment is fixed: an answer to a PING there comes after
 * all that was told of writes before it.
 */
export class TrackedKeys {
  readonly #reader: KeyReader
  readonly #invalidations: Session
  readonly #options: TrackedKeysOptions
  /** What there is, as far as it was told. */
  #present = new Set<string>()
  #invalidated = new Set<string>()
  #isFlushed = false
  readonly #timer: WakeableTimer

  private constructor(values: Session, invalidations: Session, options: TrackedKeysOptions) {
    this.#reader = new KeyReader(values, options.prefix, MOST, options.responseSize)
    this.#invalidations = invalidations
    this.#options = options
    this.#timer = new WakeableTimer(options.clock)
    invalidations.onMessage((message) => this.#onInvalidation(message))
    for (const session of [values, invalidations]) session.onEnd(() => this.#timer.wake())
  }

  static async open(route: ClusterRoute, options: TrackedKeysOptions): Promise<TrackedKeys> {
    const values = await route.open(options)
    try {
      const invalidations = await route.open(options)
      const keys = new TrackedKeys(values, invalidations, options)
      try {
        await keys.#track()
        return keys
      } catch (error) {
        invalidations.close()
        throw error
      }
    } catch (error) {
      values.close()
      throw error
    }
  }

  /** The connection that reads. */
  get session(): Session {
    return this.#reader.session
  }

  /** All keys and their values, at one moment. */
  async all(): Promise<Values> {
    for (let tries = 0; tries < MAX_ROUNDS; tries++) {
      this.#isFlushed = false
      this.#drainInvalidated()
      await this.#reader.read([]) // Else another server's keys are looked through, or those of a slot that is still to come.
      const values = new Map<string, Buffer | undefined>()
      await this.#readStable(await this.#scan(), values)
      if (this.#isFlushed) continue
      this.#present.clear()
      return this.#recordPresence(values)
    }
    throw unavailable('more is written than can be read')
  }

  /**
   * What has been written since it was last asked for, at one moment; `undefined` where that may be anything. Waits for so many
   * milliseconds at most; then there is nothing.
   */
  async changes(waitMs: number): Promise<Values | undefined> {
    if (this.#invalidated.size === 0 && !this.#isFlushed) await this.#wait(waitMs)
    const values = new Map<string, Buffer | undefined>()
    // Also where there are none: else nobody knows whether there was anything to tell.
    if (!this.#isFlushed) await this.#readStable(this.#drainInvalidated(), values)
    return this.#isFlushed ? undefined : this.#recordPresence(values)
  }

  close(): void {
    this.session.close()
    this.#invalidations.close()
  }

  async #track(): Promise<void> {
    const [id, here, there] = await Promise.all([
      this.#invalidations.command(['CLIENT', 'ID']),
      runOf(this.session),
      runOf(this.#invalidations),
    ])
    if (here !== there) throw unavailable('two connections led to two servers')
    await this.#invalidations.command(['subscribe', CHANNEL])
    await this.session.command([
      'CLIENT',
      'TRACKING',
      'ON',
      'REDIRECT',
      textOf(id),
      'BCAST',
      'PREFIX',
      this.#options.prefix,
    ])
  }

  #onInvalidation(message: RedisReply): void {
    // Nothing is named where everything is gone. What somebody published there is of no concern.
    if (message === null) this.#isFlushed = true
    else for (const name of namesOf(message)) this.#invalidated.add(name)
    if (this.#invalidated.size > Math.max(this.#options.maxKeys, MOST)) {
      this.#drainInvalidated()
      this.#isFlushed = true
    }
    this.#timer.wake()
  }

  #drainInvalidated(): Set<string> {
    const taken = this.#invalidated
    this.#invalidated = new Set()
    return taken
  }

  async #wait(ms: number): Promise<void> {
    const ending = this.session.ending ?? this.#invalidations.ending
    if (ending !== undefined) throw ending
    await this.#timer.sleep(ms)
  }

  async #scan(): Promise<Set<string>> {
    const names = new Set<string>()
    for await (const found of this.#reader.scan()) {
      for (const name of found) names.add(name)
      this.#assertFits(names.size / 2) // Some may be gone by now.
    }
    return names
  }

  /**
   * Reads these keys, and what is written meanwhile, until all is as it was at one moment: that of the newest answer, if nothing was written
   * since the older ones but what that one has. Where others never rest, each key is as it was, and what is left is told later.
   */
  async #readStable(first: Set<string>, values: Map<string, Buffer | undefined>): Promise<void> {
    let names = first
    for (let round = 1; ; round++) {
      const all = [...names]
      let answers = 0
      for (let at = 0; at < all.length || answers === 0; answers++) {
        const isWhole = round > PORTIONED && !this.#options.responseSize.isLimited
        const some = all.slice(at, at + (isWhole ? all.length : this.#reader.pageSize))
        for (const [name, value] of await this.#reader.read(some)) values.set(name, value)
        at += some.length
      }
      await this.#fence()
      const isOneMoment = answers === 1 && isWithin(this.#invalidated, names)
      if (this.#isFlushed || this.#invalidated.size === 0 || isOneMoment || round === MAX_ROUNDS) return
      const rewritten = this.#drainInvalidated()
      if (answers === 1) for (const name of rewritten) names.add(name)
      else names = rewritten
    }
  }

  #recordPresence(values: Values): Values {
    for (const [name, value] of values) {
      if (value === undefined) this.#present.delete(name)
      else this.#present.add(name)
    }
    this.#assertFits(this.#present.size)
    return values
  }

  async #fence(): Promise<void> {
    await this.#invalidations.command(['ping'])
  }

  #assertFits(keys: number): void {
    const { maxKeys, prefix } = this.#options
    if (keys <= maxKeys) return
    throw new SourceError(`more than ${maxKeys} keys begin with ${JSON.stringify(prefix)}: raise maxKeys`, {
      code: 'PROTOCOL',
    })
  }
}

function isWithin(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  for (const each of some) if (!all.has(each)) return false
  return true
}

/** Which run of which server it is. Behind a balancer, or Sentinels, two connections may lead to two: what one tells says nothing of the other. */
async function runOf(session: Session): Promise<string> {
  const info = await session.command(['INFO', 'server']).catch((error: unknown) => {
    if (!isNotAllowed(error)) throw error
    const why = 'nobody knows whether both connections lead to one server'
    throw new SourceError(`INFO is not allowed, so ${why}; allow it: ACL SETUSER <user> +info`, {
      code: 'UNAUTHORIZED',
    })
  })
  const [, run] = /^run_id:(\w+)/m.exec(textOf(info)) ?? []
  if (run === undefined) throw new SourceError(`INFO of ${session.address} has no run_id`, { code: 'PROTOCOL' })
  return run
}
