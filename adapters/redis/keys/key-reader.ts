import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../common/source-errors.js'
import { AdaptivePageSize, type ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { type RedisReply, repliesIn } from '../connection/client.js'
import { type Session, textOf } from '../connection/session.js'

/** The number of keys that one SCAN examines. */
const SCAN_COUNT = 1_000

/** Values by key; undefined if the key does not exist. A key has one character for each byte. */
export type Values = ReadonlyMap<string, Buffer | undefined>

/** Reads the keys with a prefix, from the server that has all of them. */
export class KeyReader {
  readonly session: Session
  readonly #prefix: string
  readonly #pageSize: AdaptivePageSize

  /** `most`: the maximum number of keys of one request. */
  constructor(session: Session, prefix: string, most: number, responseSize: ResponseSizeLimit) {
    this.session = session
    this.#prefix = prefix
    this.#pageSize = new AdaptivePageSize(most, responseSize)
  }

  /** The number of values that one response can hold. */
  get pageSize(): number {
    return this.#pageSize.size
  }

  /** All keys that hold strings. Keys that are created or deleted meanwhile may be included. A key may come twice. */
  async *scan(): AsyncGenerator<readonly string[]> {
    const pattern = `${this.#prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
    let cursor = '0'
    do {
      const reply = await this.session.command([
        'SCAN',
        cursor,
        'MATCH',
        pattern,
        'COUNT',
        SCAN_COUNT,
        'TYPE',
        'string',
      ])
      const [next, found] = repliesIn(reply)
      cursor = textOf(next)
      yield namesOf(found)
    } while (cursor !== '0')
  }

  /** Reads the values of these keys atomically. Rejects if this server did not have the whole slot at that time. */
  async read(names: readonly string[]): Promise<Values> {
    const absent = this.#absent
    const keys = names.map((name) => Buffer.from(name, 'latin1'))
    const reply = await this.session.command(['MGET', ...absent, ...keys]).catch((error: unknown) => {
      throw this.#pageSize.failed(this.#sourceError(error, names.length), names.length, this.session.clock.now())
    })
    const found = repliesIn(reply).slice(absent.length).map(bytesOf)
    const bytes = found.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    if (names.length > 0) this.#pageSize.arrived(names.length, bytes)
    return new Map(names.map((name, at) => [name, found[at]]))
  }

  /**
   * Two absent keys that each read includes. For an absent key, a server of a cluster responds with a redirect unless
   * it has the whole slot. Other commands, such as SCAN, find nothing on a wrong server. Two keys detect a prefix
   * without a hash tag.
   */
  get #absent(): readonly [string, string] {
    return [`${this.#prefix}\0listwatch 0`, `${this.#prefix}\0listwatch 1`]
  }

  #sourceError(error: unknown, count: number): unknown {
    const prefix = JSON.stringify(this.#prefix)
    const message = messageOf(error)
    if (/^(ASK|TRYAGAIN) /.test(message))
      return unavailable(
        `the slot of ${prefix} is being migrated to another server, which has some of its keys already`,
      )
    if (message.startsWith('CROSSSLOT '))
      return new SourceError(
        `keys that begin with ${prefix} are on several servers of a cluster: add a hash tag to the prefix, such as "{user}:"`,
        { code: 'PROTOCOL' },
      )
    if (count > 0 && message.startsWith('no response '))
      return unavailable(`${message}; the values of ${count} keys were requested`)
    return error
  }
}

/** The keys of a reply, with one character for each byte. */
export function namesOf(reply: RedisReply | undefined): string[] {
  return repliesIn(reply).flatMap((name) => (Buffer.isBuffer(name) ? [name.toString('latin1')] : []))
}

function bytesOf(reply: RedisReply | undefined): Buffer | undefined {
  return Buffer.isBuffer(reply) ? reply : undefined
}
