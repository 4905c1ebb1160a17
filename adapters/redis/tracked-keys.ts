import { messageOf, SourceError } from '../../src/errors.js'
import type { RedisReply } from './client.js'
import { unavailable } from './redis-errors.js'
import type { Route } from './route.js'
import { type RedisCommand, type Session, type SessionOptions, textOf } from './session.js'

/** Where Redis tells which keys are no longer what they were. */
const CHANNEL = '__redis__:invalidate'
/** How many keys one command asks for. */
const CHUNK = 1_000
/** How often all is asked again because something changed meanwhile. */
const MAX_ROUNDS = 50

/** A key as it is in Redis, with one character for each byte; and its value, undefined where there is none. */
export type Values = ReadonlyMap<string, Buffer | undefined>

export interface TrackedKeysOptions extends SessionOptions {
  /** What all keys begin with. */
  readonly prefix: string
  readonly maxKeys: number
}

/**
 * Plain keys that begin alike, on a server that tells when one of them is written: CLIENT TRACKING in broadcast mode, whose
 * messages come over a connection of their own. That one is also how a moment is fixed: an answer to a PING there comes after
 * all that was told of writes before it.
 */
export class TrackedKeys {
  readonly #values: Session
  readonly #news: Session
  readonly #options: TrackedKeysOptions
  #written = new Set<string>()
  #isFlushed = false
  #wake: (() => void) | undefined

  private constructor(values: Session, news: Session, options: TrackedKeysOptions) {
    this.#values = values
    this.#news = news
    this.#options = options
    news.onMessage((message) => this.#hear(message))
    for (const session of [values, news]) session.onEnd(() => this.#wake?.())
  }

  static async open(route: Route, options: TrackedKeysOptions): Promise<TrackedKeys> {
    const values = await route.open(options)
    try {
      const news = await route.open(options)
      const keys = new TrackedKeys(values, news, options)
      try {
        await keys.#track()
        return keys
      } catch (error) {
        news.close()
        throw error
      }
    } catch (error) {
      values.close()
      throw error
    }
  }

  /** The connection that reads. */
  get session(): Session {
    return this.#values
  }

  /** All keys and their values, at one moment. */
  async all(): Promise<Values> {
    this.#isFlushed = false
    this.#take()
    await this.#read(new Set()) // Else another server's keys are looked through, or those of a slot that is still to come.
    const names = await this.#scan()
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const values = await this.#read(names)
      // What was made meanwhile was not asked for; what was written is told again, which does no harm.
      const size = names.size
      for (const name of this.#written) names.add(name)
      if (names.size === size) return values
    }
    throw unavailable('keys are made faster than they can be read')
  }

  /**
   * What has been written since it was last asked for, at one moment; `undefined` where that may be anything. Waits for so many
   * milliseconds at most; then there is nothing.
   */
  async changes(waitMs: number): Promise<Values | undefined> {
    if (this.#written.size === 0 && !this.#isFlushed) await this.#wait(waitMs)
    if (this.#isFlushed) return undefined
    const names = this.#take()
    if (names.size === 0) return await this.#read(names) // Else nobody knows whether there was anything to tell.
    for (let rounds = 0; ; rounds++) {
      const values = await this.#read(names)
      if (this.#isFlushed) return undefined
      // Where others never rest, what is told belongs to several moments; each key is still as it was.
      if (this.#written.size === 0 || rounds === MAX_ROUNDS) return values
      for (const name of this.#take()) names.add(name)
    }
  }

  close(): void {
    this.#values.close()
    this.#news.close()
  }

  async #track(): Promise<void> {
    const [id, here, there] = await Promise.all([
      this.#news.command(['CLIENT', 'ID']),
      runOf(this.#values),
      runOf(this.#news),
    ])
    if (here !== there) throw unavailable('two connections led to two servers')
    await this.#news.command(['subscribe', CHANNEL])
    await this.#values.command([
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

  #hear(message: RedisReply): void {
    // Nothing is named where everything is gone.
    if (!Array.isArray(message)) this.#isFlushed = true
    else for (const name of message) if (Buffer.isBuffer(name)) this.#written.add(name.toString('latin1'))
    this.#wake?.()
  }

  #take(): Set<string> {
    const taken = this.#written
    this.#written = new Set()
    return taken
  }

  async #wait(ms: number): Promise<void> {
    const timer = new AbortController()
    this.#wake = () => timer.abort()
    const ending = this.#values.ending ?? this.#news.ending
    if (ending !== undefined) throw ending
    await this.#options.clock.sleep(ms, timer.signal).catch(() => {}) // Woken.
    this.#wake = undefined
  }

  async #scan(): Promise<Set<string>> {
    const names = new Set<string>()
    const pattern = `${this.#options.prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
    let cursor = '0'
    do {
      const reply = await this.#values.command(['SCAN', cursor, 'MATCH', pattern, 'COUNT', CHUNK, 'TYPE', 'string'])
      const [next, found] = listOf(reply)
      cursor = textOf(next)
      for (const name of listOf(found)) if (Buffer.isBuffer(name)) names.add(name.toString('latin1'))
      this.#assertFits(names.size)
    } while (cursor !== '0')
    return names
  }

  /**
   * The values of these keys at one moment, at which all that begin with the prefix were here; all that was written before it
   * has been told when this settles.
   */
  async #read(names: ReadonlySet<string>): Promise<Values> {
    this.#assertFits(names.size)
    const all = [...names]
    const commands: RedisCommand[] = [this.#probe]
    for (let at = 0; at < all.length; at += CHUNK)
      commands.push(['MGET', ...all.slice(at, at + CHUNK).map((name) => Buffer.from(name, 'latin1'))])
    const [, ...replies] = await this.#values.transaction(commands).catch((error: unknown) => {
      throw this.#meaning(error)
    })
    await this.#fence()
    const found = replies.flatMap((reply) => [...listOf(reply)])
    return new Map(all.map((name, at) => [name, bytesOf(found[at])]))
  }

  /**
   * What a server of a cluster does only if it has all of the slot: of keys that are not there it says where else they might be. They are
   * two, so that a prefix without a hash tag is found out. Nothing else that is asked here is bound to a slot: elsewhere it finds nothing.
   */
  get #probe(): RedisCommand {
    const { prefix } = this.#options
    return ['MGET', `${prefix}\0listwatch 0`, `${prefix}\0listwatch 1`]
  }

  #meaning(error: unknown): unknown {
    const [code] = messageOf(error).split(' ', 1)
    const { prefix } = this.#options
    if (code === 'ASK' || code === 'TRYAGAIN')
      return unavailable(
        `the slot of ${JSON.stringify(prefix)} is on its way to another server, a part of its keys is there already`,
      )
    if (code !== 'CROSSSLOT') return error
    return new SourceError(
      `keys that begin with ${JSON.stringify(prefix)} are on many servers of a cluster: give the prefix a hash tag, such as "{user}:"`,
      { code: 'PROTOCOL' },
    )
  }

  async #fence(): Promise<void> {
    await this.#news.command(['ping'])
  }

  #assertFits(keys: number): void {
    const { maxKeys, prefix } = this.#options
    if (keys <= maxKeys) return
    throw new SourceError(`more than ${maxKeys} keys begin with ${JSON.stringify(prefix)}: raise maxKeys`, {
      code: 'PROTOCOL',
    })
  }
}

/** Which run of which server it is; empty where the user may not ask. */
async function runOf(session: Session): Promise<string> {
  const info = await session.command(['INFO', 'server']).catch(() => '')
  return /^run_id:(\w+)/m.exec(textOf(info))?.[1] ?? ''
}

function bytesOf(reply: RedisReply | undefined): Buffer | undefined {
  return Buffer.isBuffer(reply) ? reply : undefined
}

function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
}
