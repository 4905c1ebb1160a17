import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { refused, unavailable } from '../../common/source-errors.js'
import { WakeableTimer } from '../../common/wakeable-timer.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { type RedisReply, repliesIn } from '../connection/client.js'
import type { ClusterRoute } from '../connection/cluster-route.js'
import { isNotAllowed, isSlotMigrating } from '../connection/redis-errors.js'
import { type Session, type SessionOptions, textOf } from '../connection/session.js'

const SCAN_COUNT = 1_000
/** The channel of invalidation messages: the names of written keys. */
const CHANNEL = '__redis__:invalidate'
const MAX_PAGE = 10_000
/** After this number of rounds, all remaining keys are read in one request, regardless of their size. */
const PAGED_ROUNDS = 5
/** The maximum number of rounds. After them, the values are not from one point in time. */
const MAX_ROUNDS = 50

/** Values by key; undefined if the key does not exist. A key has one character for each byte. */
export type Values = ReadonlyMap<string, Buffer | undefined>

export interface TrackedKeysOptions extends SessionOptions {
  readonly prefix: string
  readonly maxKeys: number
  readonly responseSize: ResponseSizeLimit
}

/**
 * The keys with a prefix, and their changes. CLIENT TRACKING in broadcast mode sends the names of written keys over a
 * second connection. A reply to a PING on that connection arrives after the messages of all earlier writes.
 */
export class TrackedKeys {
  readonly #session: Session
  readonly #invalidations: Session
  readonly #pageSize: AdaptivePageSize
  readonly #options: TrackedKeysOptions
  #present = new Set<string>()
  /** The keys that were written since they were last read. */
  #invalidated = new Set<string>()
  #isFlushed = false
  #swaps: string | undefined
  readonly #timer: WakeableTimer

  private constructor(session: Session, invalidations: Session, options: TrackedKeysOptions) {
    this.#session = session
    this.#invalidations = invalidations
    this.#pageSize = new AdaptivePageSize(MAX_PAGE, options.responseSize)
    this.#options = options
    this.#timer = new WakeableTimer(options.clock)
    invalidations.onMessage((message) => this.#onInvalidation(message))
    for (const each of [session, invalidations]) each.onEnd(() => this.#timer.wake())
  }

  /** `session` reads the values. The second connection ends with it. */
  static async open(session: Session, route: ClusterRoute, options: TrackedKeysOptions): Promise<TrackedKeys> {
    const opening = route.open(options)
    const close = (): void => void opening.then((invalidations) => invalidations.close()).catch(() => {})
    session.onEnd(close)
    const keys = new TrackedKeys(session, await opening, options)
    await keys.#track()
    return keys
  }

  /** All keys and their values, at one point in time. */
  async all(): Promise<Values> {
    for (let tries = 0; tries < MAX_ROUNDS; tries++) {
      this.#isFlushed = false
      await this.hasSwapped()
      this.#drainInvalidated()
      await this.#read([]) // Verifies that this server has the whole slot: SCAN does not.
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

  /** Since the last call. The server sends no invalidation of the keys that SWAPDB replaces. */
  async hasSwapped(): Promise<boolean> {
    const statistics = await this.#session.command(['INFO', 'commandstats'])
    const swaps = /^cmdstat_swapdb:calls=(\d+)/m.exec(textOf(statistics))?.[1]
    const isOther = swaps !== this.#swaps
    this.#swaps = swaps
    return isOther
  }

  async #track(): Promise<void> {
    const [id, here, there] = await Promise.all([
      this.#invalidations.command(['CLIENT', 'ID']),
      runOf(this.#session),
      runOf(this.#invalidations),
    ])
    if (here !== there) throw unavailable('two connections led to two servers')
    await this.#invalidations.command(['subscribe', CHANNEL])
    const { prefix } = this.#options
    await this.#session.command(['CLIENT', 'TRACKING', 'ON', 'REDIRECT', textOf(id), 'BCAST', 'PREFIX', prefix])
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
    const ending = this.#session.ending ?? this.#invalidations.ending
    if (ending !== undefined) throw ending
    await this.#timer.sleep(ms)
  }

  /** All keys that hold strings. Keys that are created or deleted meanwhile may be included. */
  async #scan(): Promise<Set<string>> {
    const names = new Set<string>()
    const pattern = `${this.#options.prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
    let cursor = '0'
    do {
      const scan = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT, 'TYPE', 'string'] as const
      const [next, found] = repliesIn(await this.#session.command(scan))
      cursor = textOf(next)
      for (const name of namesOf(found)) names.add(name)
      this.#assertFits(names.size / 2) // Some may have been deleted already.
    } while (cursor !== '0')
    return names
  }

  /** Reads the values of these keys atomically. Rejects if this server did not have the whole slot at that time. */
  async #read(names: readonly string[]): Promise<Values> {
    const { prefix } = this.#options
    // For an absent key, a server of a cluster responds with a redirect unless it has the whole slot. Other commands, such
    // as SCAN, find nothing on a wrong server. Two keys detect a prefix without a hash tag.
    const absent = [`${prefix}\0listwatch 0`, `${prefix}\0listwatch 1`]
    const keys = names.map((name) => Buffer.from(name, 'latin1'))
    const reply = this.#session.command(['MGET', ...absent, ...keys]).catch((error: unknown) => {
      throw this.#explained(error, names.length)
    })
    const values = repliesIn(await this.#pageSize.response(reply, this.#session.clock, names.length))
    const found = values.slice(absent.length).map((value) => (Buffer.isBuffer(value) ? value : undefined))
    const bytes = found.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    if (names.length > 0) this.#pageSize.arrived(names.length, bytes)
    return new Map(names.map((name, at) => [name, found[at]]))
  }

  #explained(error: unknown, count: number): unknown {
    const prefix = JSON.stringify(this.#options.prefix)
    const message = messageOf(error)
    if (isSlotMigrating(error))
      return unavailable(
        `the slot of ${prefix} is being migrated to another server, which has some of its keys already`,
      )
    if (message.startsWith('CROSSSLOT '))
      return refused(
        `keys that begin with ${prefix} are on several servers of a cluster: add a hash tag to the prefix, such as "{user}:"`,
      )
    if (count > 0 && message.startsWith('no response '))
      return unavailable(`${message}; the values of ${count} keys were requested`)
    return error
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
        const some = all.slice(at, at + (isWhole ? all.length : this.#pageSize.size))
        for (const [name, value] of await this.#read(some)) values.set(name, value)
        at += some.length
      }
      await this.#invalidations.command(['ping'])
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

  #assertFits(keys: number): void {
    const { maxKeys, prefix } = this.#options
    if (keys <= maxKeys) return
    throw refused(`more than ${maxKeys} keys begin with ${JSON.stringify(prefix)}: raise maxKeys`)
  }
}

function namesOf(reply: RedisReply | undefined): string[] {
  return repliesIn(reply).flatMap((name) => (Buffer.isBuffer(name) ? [name.toString('latin1')] : []))
}

function isWithin(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  for (const each of some) if (!all.has(each)) return false
  return true
}

/** Behind a load balancer, connections may lead to two servers, and one does not report the writes of the other. */
async function runOf(session: Session): Promise<string> {
  const info = await session.command(['INFO', 'server']).catch((error: unknown) => {
    if (!isNotAllowed(error)) throw error
    const why = 'it is unknown whether both connections lead to one server'
    throw new SourceError(`INFO is not allowed, so ${why}; allow it: ACL SETUSER <user> +info`, {
      code: 'UNAUTHORIZED',
    })
  })
  const [, run] = /^run_id:(\w+)/m.exec(textOf(info)) ?? []
  if (run === undefined) throw refused(`INFO of ${session.address} has no run_id`)
  return run
}
