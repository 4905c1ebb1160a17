import { messageOf } from '../../../src/contract/errors.js'
import type { Random } from '../../../src/contract/random.js'
import type { Version } from '../../../src/contract/version.js'
import type { RedisReply } from '../connection/client.js'
import { encodeKey, encodeValue } from '../connection/codec.js'
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js'
import { type LogEntry, positionOf, readEntry } from './change-log.js'
import type { CollectionKeys } from './collection-keys.js'
import { type Absent, formatVersion, idOf, type Position, parseVersion } from './collection-version.js'
import type { ApplyOptions, RedisChange } from './redis-change.js'
import { RedisWriteError } from './write-error.js'
import type { WriterConnection } from './writer-connection.js'
import { chainAfter, type EncodedChange, scriptArguments, WRITER_SCRIPT, WRITER_SCRIPT_SHA } from './writer-script.js'

export interface WriterSettings<T> {
  readonly connection: WriterConnection
  readonly keys: CollectionKeys
  readonly codec: RedisCodecName | RedisEncode<T>
  readonly keyForm: RedisKeys
  readonly retention: number
  readonly random: Random
}

/** How many changes one call may make: Redis' Lua can hand over so many fields at once. */
export const MOST_CHANGES = 3_500
/** How many calls without an answer are remembered. */
const MOST_UNKNOWN = 1_000

/** Writes one collection. */
export class CollectionWriter<T> {
  readonly #settings: WriterSettings<T>
  /** The words of calls whose answer was lost, by what they were to do: the same call again is told from somebody else's. */
  readonly #unknown = new Map<string, string>()

  constructor(settings: WriterSettings<T>) {
    this.#settings = settings
  }

  async apply(changes: readonly RedisChange<T>[], { ifVersion }: ApplyOptions = {}): Promise<Version> {
    const encoded = changes.map((change) => this.#encode(change))
    const expected = ifVersion === undefined ? undefined : parseVersion(ifVersion)
    const call =
      expected === undefined ? undefined : JSON.stringify([ifVersion, chainAfter({ chain: '', epoch: 0 }, '', encoded)])
    const before = call === undefined ? undefined : this.#unknown.get(call)
    const nonce = before ?? this.#nonce()
    try {
      const place = await this.#run(encoded, expected, nonce, before !== undefined)
      if (call !== undefined) this.#unknown.delete(call)
      return formatVersion(place)
    } catch (error) {
      if (call !== undefined) this.#remember(call, nonce, error)
      throw error
    }
  }

  async #run(
    changes: readonly EncodedChange[],
    expected: Position | Absent | undefined,
    nonce: string,
    isAgain: boolean,
  ): Promise<Position> {
    const { keys, retention } = this.#settings
    const [id, chain] =
      expected === undefined ? ['', ''] : 'absentAt' in expected ? ['none', ''] : [idOf(expected), expected.chain]
    const places = [3, keys.hash, keys.stream, keys.meta]
    const answer = await this.#script([...places, retention, id, chain, nonce, ...scriptArguments(changes)])
    if (!(answer instanceof Error)) return placeIn(answer)
    const conflict = /^CONFLICT (\S+) (\S+)/.exec(messageOf(answer))
    if (conflict === null) throw refused(answer)
    const here = positionOf(conflict[1] ?? '', conflict[2] ?? '')
    const ours =
      isAgain && here !== undefined && expected !== undefined
        ? await this.#own(expected, here, nonce, changes)
        : undefined
    if (ours !== undefined) return ours
    const version = here === undefined ? undefined : formatVersion(here)
    throw new RedisWriteError(
      'CONFLICT',
      `nothing was written: the collection is at ${version ?? 'no version: there is none'}`,
      version === undefined ? {} : { version },
    )
  }

  /** What the script answers; the server is given it where it does not have it. */
  async #script(rest: readonly (string | number | Buffer)[]): Promise<RedisReply | Error> {
    const { connection } = this.#settings
    const answer = await connection.send(['EVALSHA', WRITER_SCRIPT_SHA, ...rest])
    return answer instanceof Error && /^NOSCRIPT /.test(answer.message)
      ? await connection.send(['EVAL', WRITER_SCRIPT, ...rest])
      : answer
  }

  /** Where the entry that follows the expected version is our own, of a call whose answer was lost: its place. */
  async #own(
    expected: Position | Absent,
    here: Position,
    nonce: string,
    changes: readonly EncodedChange[],
  ): Promise<Position | undefined> {
    const next = 'absentAt' in expected ? undefined : { epoch: expected.epoch, sequence: expected.sequence + 1 }
    const found = next === undefined ? undefined : await this.#entry(next)
    if (found !== undefined && isOwn(found, nonce, changes)) return found.position
    // It may have begun the history that is there now.
    const isAnother = next?.epoch !== here.epoch
    const entry = isAnother ? await this.#entry({ epoch: here.epoch, sequence: 0 }) : found
    if (entry !== undefined) return isOwn(entry, nonce, changes) ? entry.position : undefined
    if (!isAnother && next.sequence > here.sequence) return undefined
    throw new RedisWriteError('OUTCOME_UNKNOWN', 'whether it was written is not known: its entry was trimmed')
  }

  async #entry({ epoch, sequence }: Pick<Position, 'epoch' | 'sequence'>): Promise<LogEntry | undefined> {
    const id = `${epoch}-${sequence}`
    const answer = await this.#settings.connection.send(['XRANGE', this.#settings.keys.stream, id, id])
    if (answer instanceof Error) throw refused(answer)
    const [reply] = Array.isArray(answer) ? (answer as readonly RedisReply[]) : []
    return reply === undefined ? undefined : readEntry(reply)
  }

  #encode(change: RedisChange<T>): EncodedChange {
    const { codec, keyForm } = this.#settings
    if (isPut(change))
      return { key: encodeKey(change.put, keyForm), value: encodeValue(codec, change.object, change.put) }
    return { key: encodeKey(change.delete, keyForm), value: undefined }
  }

  #remember(call: string, nonce: string, error: unknown): void {
    this.#unknown.delete(call)
    if (!(error instanceof RedisWriteError) || error.code === 'CONFLICT') return
    // Also after a call that was refused: it may have been the second, after one that nobody knows of.
    this.#unknown.set(call, nonce)
    for (const oldest of this.#unknown.keys()) {
      if (this.#unknown.size <= MOST_UNKNOWN) break
      this.#unknown.delete(oldest)
    }
  }

  #nonce(): string {
    const { random } = this.#settings
    return Array.from({ length: 3 }, () => Math.floor(random.next() * 2 ** 32).toString(36)).join('.')
  }
}

function isOwn({ previous, position }: LogEntry, nonce: string, changes: readonly EncodedChange[]): boolean {
  return position.chain === chainAfter({ chain: previous, epoch: position.epoch }, nonce, changes)
}

function placeIn(answer: RedisReply): Position {
  const [id, chain] = Array.isArray(answer) ? answer.map(String) : []
  const place = positionOf(id ?? '', chain ?? '')
  if (place === undefined) throw new RedisWriteError('OUTCOME_UNKNOWN', 'the answer was not understood')
  return place
}

function refused(answer: Error): RedisWriteError {
  return new RedisWriteError('NOT_WRITTEN', `nothing was written: ${answer.message}`, { cause: answer })
}

/** Of which key it is. */
export function keyOf(change: RedisChange<unknown>): string {
  return isPut(change) ? change.put : change.delete
}

/** An undefined `put` is none. */
export function isPut<T>(change: RedisChange<T>): change is Extract<RedisChange<T>, { readonly put: string }> {
  return 'put' in change && change.put !== undefined
}
