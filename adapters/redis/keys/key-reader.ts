import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../shared/source-errors.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import type { RedisReply } from '../connection/client.js'
import { type Session, textOf } from '../connection/session.js'

/** How many keys a SCAN looks at. */
const SCANNED = 1_000

/** A key as it is in Redis, with one character for each byte; and its value, undefined where there is none. */
export type Values = ReadonlyMap<string, Buffer | undefined>

/** Reads the plain keys that begin alike, from a server that has all of them. */
export class KeyReader {
  readonly session: Session
  readonly #prefix: string
  readonly #portion: AdaptivePageSize

  /** `most` keys are asked for at once, where they are small. */
  constructor(session: Session, prefix: string, most: number, responseSize: ResponseSizeLimit) {
    this.session = session
    this.#prefix = prefix
    this.#portion = new AdaptivePageSize(most, responseSize)
  }

  /** How many values may be asked for at once, so that the answer is not too large. */
  get pageSize(): number {
    return this.#portion.size
  }

  /** All keys that hold strings; those that were made or deleted meanwhile may be among them. Some may come twice. */
  async *scan(): AsyncGenerator<readonly string[]> {
    const pattern = `${this.#prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
    let cursor = '0'
    do {
      const reply = await this.session.command(['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCANNED, 'TYPE', 'string'])
      const [next, found] = listOf(reply)
      cursor = textOf(next)
      yield namesOf(found)
    } while (cursor !== '0')
  }

  /** The values of these keys at one moment, at which all that begin with the prefix were here. */
  async read(names: readonly string[]): Promise<Values> {
    const absent = this.#absent
    const keys = names.map((name) => Buffer.from(name, 'latin1'))
    const reply = await this.session.command(['MGET', ...absent, ...keys]).catch((error: unknown) => {
      throw this.#portion.failed(this.#meaning(error, names.length), names.length, this.session.clock.now())
    })
    const found = listOf(reply).slice(absent.length).map(bytesOf)
    const bytes = found.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    if (names.length > 0) this.#portion.arrived(names.length, bytes)
    return new Map(names.map((name, at) => [name, found[at]]))
  }

  /**
   * Asked for with all that is read: of keys that are not there a server of a cluster says where else they might be, unless it has the whole
   * slot. They are two, so that a prefix without a hash tag is found out. Nothing else is bound to a slot: elsewhere it finds nothing.
   */
  get #absent(): readonly [string, string] {
    return [`${this.#prefix}\0listwatch 0`, `${this.#prefix}\0listwatch 1`]
  }

  #meaning(error: unknown, count: number): unknown {
    const prefix = JSON.stringify(this.#prefix)
    const message = messageOf(error)
    if (/^(ASK|TRYAGAIN) /.test(message))
      return unavailable(
        `the slot of ${prefix} is on its way to another server, and some of its keys are there already`,
      )
    if (message.startsWith('CROSSSLOT '))
      return new SourceError(
        `keys that begin with ${prefix} are on many servers of a cluster: give the prefix a hash tag, such as "{user}:"`,
        { code: 'PROTOCOL' },
      )
    if (count > 0 && message.startsWith('no answer '))
      return unavailable(`${message}; the values of ${count} keys were to come`)
    return error
  }
}

/** The keys of an answer, with one character for each byte. */
export function namesOf(reply: RedisReply | undefined): string[] {
  return listOf(reply).flatMap((name) => (Buffer.isBuffer(name) ? [name.toString('latin1')] : []))
}

function bytesOf(reply: RedisReply | undefined): Buffer | undefined {
  return Buffer.isBuffer(reply) ? reply : undefined
}

function listOf(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
}
