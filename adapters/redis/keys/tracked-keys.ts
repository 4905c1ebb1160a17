import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../common/source-errors.js'
import { WakeableTimer } from '../../common/wakeable-timer.js'
import type { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import type { RedisReply } from '../connection/client.js'
import type { ClusterRoute } from '../connection/cluster-route.js'
import { isNotAllowed } from '../connection/redis-errors.js'
import { type Session, type SessionOptions, textOf } from '../connection/session.js'
import { KeyReader, namesOf, type Values } from './key-reader.js'

/** The channel of invalidation messages: the names of written keys. */
const CHANNEL = '__redis__:invalidate'
/** The maximum number of keys of one request. */
const MAX_PAGE = 10_000
/** After this number of rounds, all remaining keys are read in one request, regardless of their size. */
const PAGED_ROUNDS = 5
/** The maximum number of rounds. After them, the values are not from one point in time. */
const MAX_ROUNDS = 50

export interface TrackedKeysOptions extends SessionOptions {
  /** The prefix of all keys. */
  readonly prefix: string
  readonly maxKeys: number
  readonly responseSize: ResponseSizeLimit
}

/**
 * The keys with a prefix, and their changes. CLIENT TRACKING in broadcast mode sends the names of written keys over a
 * second connection. A reply to a PING on that connection arrives after the messages of all earlier writes.
 */
export class TrackedKeys {
  readonly #reader: KeyReader
  readonly #invalidations: Session
  readonly #options: TrackedKeysOptions
  /** The known existing keys. */
  #present = new Set<string>()
  /** The keys that were written since they were last read. */
  #invalidated = new Set<string>()
  /** Whether all keys may have changed. */
  #isFlushed = false
  /** The number of swaps of databases when they were last counted. */
  #swaps: string | undefined
  readonly #timer: WakeableTimer

  private constructor(values: Session, invalidations: Session, options: TrackedKeysOptions) {
    this.#reader = new KeyReader(values, options.prefix, MAX_PAGE, options.responseSize)
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

  /** The connection that reads values. */
  get session(): Session {
    return this.#reader.session
  }

  /** All keys and their values, at one point in time. */
  async all(): Promise<Values> {
    for (let tries = 0; tries < MAX_ROUNDS; tries++) {
      this.#isFlushed = false
      await this.hasSwapped()
      this.#drainInvalidated()
      await this.#reader.read([]) // Verifies that this server has the whole slot: SCAN does not.
      const values = new Map<string, Buffer | undefined>()
      await this.#readStable(await this.#scan(), values)
      if (this.#isFlushed || (await this.hasSwapped())) continue
      this.#present.clear()
      return this.#recordPresence(values)
    }
    throw unavailable(
      `no consistent snapshot after ${MAX_ROUNDS} attempts: all keys were flushed or swapped during each of them`,
    )
  }

  /**
   * The keys that were written since the last call, at one point in time; `undefined` if all keys may have changed.
   * Waits up to `waitMs` milliseconds. The result is empty if nothing was written.
   */
  async changes(waitMs: number): Promise<Values | undefined> {
    if (this.#invalidated.size === 0 && !this.#isFlushed) await this.#wait(waitMs)
    const values = new Map<string, Buffer | undefined>()
    // Also without invalidated keys: the reply to the PING proves that no message is pending.
    if (!this.#isFlushed) await this.#readStable(this.#drainInvalidated(), values)
    return this.#isFlushed ? undefined : this.#recordPresence(values)
  }

  /**
   * Whether databases were swapped since the last call. The server sends no invalidation of the keys that SWAPDB
   * replaces.
   */
  async hasSwapped(): Promise<boolean> {
    const statistics = await this.session.command(['INFO', 'commandstats'])
    const swaps = /^cmdstat_swapdb:calls=(\d+)/m.exec(textOf(statistics))?.[1]
    const isOther = swaps !== this.#swaps
    this.#swaps = swaps
    return isOther
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
    // Null means that all keys were flushed. Messages that other clients publish here are ignored.
    if (message === null) this.#isFlushed = true
    else for (const name of namesOf(message)) this.#invalidated.add(name)
    if (this.#invalidated.size > Math.max(this.#options.maxKeys, MAX_PAGE)) {
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
      this.#assertFits(names.size / 2) // Some may have been deleted already.
    }
    return names
  }

  /**
   * Reads these keys, and the keys that are written meanwhile, until all values are from one point in time: that of the
   * last response, if it has all keys that were written since the earlier ones. If writes never stop, each value is
   * correct by itself, and later changes follow.
   */
  async #readStable(first: Set<string>, values: Map<string, Buffer | undefined>): Promise<void> {
    let names = first
    for (let round = 1; ; round++) {
      const all = [...names]
      let responses = 0
      for (let at = 0; at < all.length || responses === 0; responses++) {
        const isWhole = round > PAGED_ROUNDS && !this.#options.responseSize.isLimited
        const some = all.slice(at, at + (isWhole ? all.length : this.#reader.pageSize))
        for (const [name, value] of await this.#reader.read(some)) values.set(name, value)
        at += some.length
      }
      await this.#fence()
      const isConsistent = responses === 1 && isWithin(this.#invalidated, names)
      if (this.#isFlushed || this.#invalidated.size === 0 || isConsistent || round === MAX_ROUNDS) return
      const rewritten = this.#drainInvalidated()
      if (responses === 1) for (const name of rewritten) names.add(name)
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

/**
 * The id of the server process. Behind a load balancer or Sentinels, two connections may lead to two servers, and one
 * does not report the writes of the other.
 */
async function runOf(session: Session): Promise<string> {
  const info = await session.command(['INFO', 'server']).catch((error: unknown) => {
    if (!isNotAllowed(error)) throw error
    const why = 'it is unknown whether both connections lead to one server'
    throw new SourceError(`INFO is not allowed, so ${why}; allow it: ACL SETUSER <user> +info`, {
      code: 'UNAUTHORIZED',
    })
  })
  const [, run] = /^run_id:(\w+)/m.exec(textOf(info)) ?? []
  if (run === undefined) throw new SourceError(`INFO of ${session.address} has no run_id`, { code: 'PROTOCOL' })
  return run
}
