import { type Clock, systemClock } from '../../../src/contract/clock.js'
import { messageOf } from '../../../src/contract/errors.js'
import { type Random, systemRandom } from '../../../src/contract/random.js'
import type { Version } from '../../../src/contract/version.js'
import { type RedisClient, type RedisReply, repliesIn } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { encodeKey, encodeValue } from '../connection/codec.js'
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js'
import { warningsOf } from '../connection/server-checks.js'
import { type LogEntry, positionOf, readEntry } from './change-log.js'
import type { CollectionKeys } from './collection-keys.js'
import { type Absent, formatVersion, idOf, type Position, parseVersion } from './collection-version.js'
import type { ApplyOptions, RedisChange } from './redis-change.js'
import { RedisWriteError } from './write-error.js'
import { WriterConnection } from './writer-connection.js'
import { chainAfter, type EncodedChange, scriptArguments, WRITER_SCRIPT, WRITER_SCRIPT_SHA } from './writer-script.js'

export interface WriterSettings {
  readonly client: RedisClient
  readonly name: string
  /** One collection, or all of a database. More may be added. */
  readonly collections: readonly CollectionKeys[]
  readonly retention?: number | undefined
  readonly timeoutMs?: number | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  /** Whether a collection whose hash has another number of fields than its history counts as deleted. */
  readonly isExact?: boolean
}

/** The maximum number of changes of one call: Lua cannot pass more fields to a command. */
export const MAX_CHANGES = 3_500
const MAX_UNKNOWN = 1_000

/** Writes one collection, or those of a database. `keys`: those that they have in common. */
export class CollectionWriter {
  readonly #settings: WriterSettings
  readonly #keys: Pick<CollectionKeys, 'stream' | 'meta'>
  readonly #connection: WriterConnection
  /** The nonces of calls whose response was lost: a repeated call recognises its own entry by its nonce. */
  readonly #unknown = new Map<string, string>()

  constructor(settings: WriterSettings, keys: Pick<CollectionKeys, 'stream' | 'meta'>) {
    const { client, name, timeoutMs = 5_000, clock = systemClock } = settings
    this.#settings = settings
    this.#keys = keys
    const route = new ClusterRoute(client, keys.meta)
    this.#connection = new WriterConnection({ route, clock, timeoutMs, warnings: warningsOf(name) })
  }

  async apply(encoded: readonly EncodedChange[], { ifVersion }: ApplyOptions = {}): Promise<Version> {
    const expected = ifVersion === undefined ? undefined : parseVersion(ifVersion)
    const call =
      expected === undefined ? undefined : JSON.stringify([ifVersion, chainAfter({ chain: '', epoch: 0 }, '', encoded)])
    const before = call === undefined ? undefined : this.#unknown.get(call)
    const nonce = before ?? this.#nonce()
    try {
      const position = await this.#run(encoded, expected, nonce, before !== undefined)
      if (call !== undefined) this.#unknown.delete(call)
      return formatVersion(position)
    } catch (error) {
      if (call !== undefined) this.#remember(call, nonce, error)
      throw error
    }
  }

  close(): void {
    this.#connection.close()
  }

  async #run(
    changes: readonly EncodedChange[],
    expected: Position | Absent | undefined,
    nonce: string,
    isAgain: boolean,
  ): Promise<Position> {
    const { collections, retention = 10_000, isExact = false } = this.#settings
    const { stream, meta } = this.#keys
    const [id, chain] =
      expected === undefined ? ['', ''] : 'absentAt' in expected ? ['none', ''] : [idOf(expected), expected.chain]
    const numberedKeys = [2 + collections.length, stream, meta, ...collections.map(({ hash }) => hash)]
    const names = collections.map(({ start }) => start).join('')
    const own = [retention, id, chain, nonce, isExact ? 'exact' : '', names]
    const answer = await this.#script([...numberedKeys, ...own, ...scriptArguments(changes)])
    if (!(answer instanceof Error)) return positionIn(answer)
    const conflict = /^CONFLICT (\S+) (\S+)/.exec(messageOf(answer))
    if (conflict === null) throw refused(answer)
    const here = positionOf(conflict[1] ?? '', conflict[2] ?? '')
    const ours =
      isAgain && here !== undefined && expected !== undefined
        ? await this.#findOwnEntry(expected, here, nonce, changes)
        : undefined
    if (ours !== undefined) return ours
    const version = here === undefined ? undefined : formatVersion(here)
    throw new RedisWriteError(
      'CONFLICT',
      `nothing was written: the collection ${version === undefined ? `does not exist${isExact ? ', or has lost fields' : ''}` : `is at ${version}`}`,
      version === undefined ? {} : { version },
    )
  }

  async #script(rest: readonly (string | number | Buffer)[]): Promise<RedisReply | Error> {
    const answer = await this.#connection.send(['EVALSHA', WRITER_SCRIPT_SHA, ...rest])
    return answer instanceof Error && /^NOSCRIPT /.test(answer.message)
      ? await this.#connection.send(['EVAL', WRITER_SCRIPT, ...rest])
      : answer
  }

  /** The position of this call's own entry, if an earlier attempt wrote it after the expected version. */
  async #findOwnEntry(
    expected: Position | Absent,
    here: Position,
    nonce: string,
    changes: readonly EncodedChange[],
  ): Promise<Position | undefined> {
    const next = 'absentAt' in expected ? undefined : { epoch: expected.epoch, sequence: expected.sequence + 1 }
    const found = next === undefined ? undefined : await this.#entry(next)
    if (found !== undefined && isOwn(found, nonce, changes)) return found.position
    // The earlier attempt may have begun the current history.
    const isAnother = next?.epoch !== here.epoch
    const entry = isAnother ? await this.#entry({ epoch: here.epoch, sequence: 0 }) : found
    if (entry !== undefined) return isOwn(entry, nonce, changes) ? entry.position : undefined
    if (!isAnother && next.sequence > here.sequence) return undefined
    throw new RedisWriteError(
      'OUTCOME_UNKNOWN',
      'it is unknown whether the changes were written: the entry was trimmed',
    )
  }

  async #entry({ epoch, sequence }: Pick<Position, 'epoch' | 'sequence'>): Promise<LogEntry | undefined> {
    const id = `${epoch}-${sequence}`
    const answer = await this.#connection.send(['XRANGE', this.#keys.stream, id, id])
    if (answer instanceof Error) throw refused(answer)
    const [reply] = repliesIn(answer)
    return reply === undefined ? undefined : readEntry(reply)
  }

  #remember(call: string, nonce: string, error: unknown): void {
    this.#unknown.delete(call)
    if (!(error instanceof RedisWriteError) || error.code === 'CONFLICT') return
    // Also after a rejected call: an earlier attempt of it may have been written.
    this.#unknown.set(call, nonce)
    for (const oldest of this.#unknown.keys()) {
      if (this.#unknown.size <= MAX_UNKNOWN) break
      this.#unknown.delete(oldest)
    }
  }

  #nonce(): string {
    const { random = systemRandom } = this.#settings
    return Array.from({ length: 3 }, () => Math.floor(random.next() * 2 ** 32).toString(36)).join('.')
  }
}

function isOwn({ previous, position }: LogEntry, nonce: string, changes: readonly EncodedChange[]): boolean {
  return position.chain === chainAfter({ chain: previous, epoch: position.epoch }, nonce, changes)
}

function positionIn(answer: RedisReply): Position {
  const [id, chain] = Array.isArray(answer) ? answer.map(String) : []
  const position = positionOf(id ?? '', chain ?? '')
  if (position === undefined) throw new RedisWriteError('OUTCOME_UNKNOWN', 'the response of the script is not valid')
  return position
}

function refused(answer: Error): RedisWriteError {
  return new RedisWriteError('NOT_WRITTEN', `nothing was written: ${answer.message}`, { cause: answer })
}

export function encodeChange<T>(
  change: RedisChange<T>,
  codec: RedisCodecName | RedisEncode<T>,
  keys: RedisKeys,
): EncodedChange {
  if (!isPut(change)) return { key: encodeKey(change.delete, keys), value: undefined }
  return { key: encodeKey(change.put, keys), value: encodeValue(codec, change.object, change.put) }
}

export function keyOf(change: RedisChange<unknown>): string {
  return isPut(change) ? change.put : change.delete
}

/** Whether the change is a put. A `put` that is undefined does not count. */
export function isPut<T>(change: RedisChange<T>): change is Extract<RedisChange<T>, { readonly put: string }> {
  return 'put' in change && change.put !== undefined
}
