import { type Clock, systemClock } from '../../../src/contract/clock.js'
import { messageOf, OptionError } from '../../../src/contract/errors.js'
import { type Random, systemRandom } from '../../../src/contract/random.js'
import type { Version } from '../../../src/contract/version.js'
import { unavailable } from '../../common/source-errors.js'
import { type RedisClient, type RedisReply, repliesIn } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { encodeKey, encodeValue } from '../connection/codec.js'
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js'
import {
  isDemoted,
  isErrorReply,
  isRedirected,
  isSlotMigrating,
  isUnsent,
  redisError,
} from '../connection/redis-errors.js'
import { openChecked, warningsOf } from '../connection/server-checks.js'
import type { RedisCommand, Session } from '../connection/session.js'
import { type LogEntry, positionOf, readEntry } from './change-log.js'
import type { CollectionKeys } from './collection-keys.js'
import { type Absent, formatVersion, idOf, type Position, parseVersion } from './collection-version.js'
import type { ApplyOptions, RedisChange } from './redis-change.js'
import { RedisWriteError } from './write-error.js'
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
const MAX_REDIRECTS = 10
/** The delay before the next attempt, in milliseconds. It doubles while servers respond that they are replicas. */
const REDIRECT_DELAY_MS = 100
const MOST_DOUBLINGS = 3

/** Writes one collection, or those of a database. `keys`: those that they have in common. */
export class CollectionWriter {
  readonly #settings: WriterSettings
  readonly #keys: Pick<CollectionKeys, 'stream' | 'meta'>
  readonly #connection: WriterConnection
  /** The nonces of calls whose response was lost: a repeated call recognises its own entry by its nonce. */
  readonly #unknown = new Map<string, string>()

  constructor(settings: WriterSettings, keys: Pick<CollectionKeys, 'stream' | 'meta'>) {
    this.#settings = settings
    this.#keys = keys
    this.#connection = writerConnection(settings, keys.meta)
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

interface WriterConnection {
  /** The reply, or the reason why nothing was written. Rejects with `OUTCOME_UNKNOWN` if the response was lost. */
  send(command: RedisCommand): Promise<RedisReply | Error>
  close(): void
}

/** Is reopened after a loss. A command is sent again only if the server responded that it did nothing. */
function writerConnection(settings: WriterSettings, key: string): WriterConnection {
  const { client, name, timeoutMs = 5_000, clock = systemClock } = settings
  const [route, warn] = [new ClusterRoute(client, key), warningsOf(name)(undefined)]
  const closed = new AbortController()
  const { signal } = closed
  let opening: Promise<Session> | undefined
  let open: Session | undefined
  /** The number of responses of replicas since the last one of a master. */
  let demotions = 0
  /** The number of pending commands of each session. A session other than `open` is closed after its last response. */
  const pending = new Map<Session, number>()

  const connect = async (): Promise<Session> => {
    try {
      if (signal.aborted) throw unavailable('the writer was closed')
      open = await openChecked(route, { signal, clock, timeoutMs }, warn)
      return open
    } finally {
      opening = undefined
    }
  }

  const current = async (): Promise<Session> => {
    if (open !== undefined && open.ending === undefined) return open
    opening ??= connect()
    return await opening
  }

  const sendOnce = async (command: RedisCommand): Promise<RedisReply | Error> => {
    let session: Session
    try {
      session = await current()
    } catch (error) {
      if (error instanceof OptionError) throw error
      return redisError(error)
    }
    // The session may have ended since it was chosen. Nothing was sent over it.
    if (session.ending !== undefined) return signal.aborted ? session.ending : sendOnce(command)
    pending.set(session, (pending.get(session) ?? 0) + 1)
    try {
      return await session.command(command)
    } catch (error) {
      if (error instanceof Error && isErrorReply(error)) {
        if (isRedirected(error)) route.noteFailure(error)
        // Earlier commands may have been executed here, so their responses are awaited.
        if (isRedirected(error) && open === session) open = undefined
        return error
      }
      if (isUnsent(error)) return redisError(error)
      const message = `the response was lost, and it is unknown whether the changes were written: ${messageOf(error)}`
      throw new RedisWriteError('OUTCOME_UNKNOWN', message, { cause: error })
    } finally {
      const left = (pending.get(session) ?? 1) - 1
      if (left > 0) pending.set(session, left)
      else {
        pending.delete(session)
        if (open !== session) session.close()
      }
    }
  }

  return {
    async send(command) {
      const since = clock.now()
      for (let redirects = 0; ; ) {
        const answer = await sendOnce(command)
        if (!(answer instanceof Error)) {
          demotions = 0
          return answer
        }
        let delayMs = REDIRECT_DELAY_MS
        if (isDemoted(answer)) delayMs *= 2 ** Math.min(demotions++, MOST_DOUBLINGS)
        if (isRedirected(answer)) redirects++
        else if (!isSlotMigrating(answer)) return answer
        if (redirects > MAX_REDIRECTS || clock.now() - since >= timeoutMs || signal.aborted) return answer
        await clock.sleep(delayMs, signal).catch(() => {})
      }
    },
    close() {
      closed.abort()
      for (const session of [...pending.keys()]) session.close()
      open?.close()
    },
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
