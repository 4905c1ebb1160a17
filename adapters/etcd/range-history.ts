import type { SourceError } from '../../src/contract/errors.js'
import type { CollectionBatch, HistoryWatchContext, SharedHistory } from '../../src/contract/shared-history.js'
import type { SourceContext, WatchEvent } from '../../src/contract/source.js'
import { uniqueName } from '../../src/util/unique-name.js'
import { expired } from '../common/source-errors.js'
import type { EntryCodec } from './entry-codec.js'
import { type EtcdClusterOptions, HEARTBEAT_MS, TIMEOUT_MS, transportOf } from './etcd-options.js'
import { parseVersion } from './history/etcd-version.js'
import type { Header } from './transport/etcd-messages.js'
import { coverOf, type KeyRange } from './transport/key-range.js'
import { KNOWN_LOSSES, losesEvents } from './transport/server-version.js'
import { Session } from './transport/session.js'
import type { Transport } from './transport/transport.js'
import { type WatchedRange, type WatchOptions, watchRanges } from './watch/watch-loop.js'

/** If this many watches in succession end without an event, the ranges are listed. The second watch uses fragments. */
const MOST_STUCK = 2
const NOT_STUCK = { after: '', attempts: 0 }

interface Member {
  readonly range: KeyRange
  readonly codec: EntryCodec<unknown>
}

/** The history of ranges of one cluster. All have one watch. */
export class RangeHistory implements SharedHistory {
  readonly name = 'etcd'
  readonly holdMs: number | undefined
  readonly heartbeatMs: number
  readonly transport: Transport
  readonly #settings: Pick<WatchOptions, 'maxCatchup' | 'requireLeader' | 'progressMs' | 'timeoutMs'>
  readonly #members = new Map<string, Member>()
  readonly #versionsSeen = new Set<string>()
  /** The versions at which consecutive watches ended before their first event. */
  #stuck = NOT_STUCK

  constructor(options: EtcdClusterOptions, call: string) {
    const { heartbeatMs = HEARTBEAT_MS, timeoutMs = TIMEOUT_MS, maxCatchup = 20_000, requireLeader = true } = options
    this.transport = transportOf(options, call)
    this.holdMs = options.holdMs
    this.heartbeatMs = heartbeatMs
    // A progress request is sent after `progressMs` of silence, and its response may take as long.
    this.#settings = { maxCatchup, requireLeader, progressMs: heartbeatMs / 2, timeoutMs }
  }

  add(name: string, member: Member): string {
    const collection = uniqueName(name, this.#members)
    this.#members.set(collection, member)
    return collection
  }

  async *watch(context: HistoryWatchContext): AsyncGenerator<CollectionBatch> {
    const { positions, signal, clock, onProgressRequest, requestAudit, warn } = context
    const ranges = Array.from(positions, ([collection, position]): WatchedRange => {
      return { collection, range: this.#member(collection).range, from: parseVersion(position) }
    })
    const [first, ...others] = ranges
    if (first === undefined) return
    const after = [...positions.values()].join(' ')
    const attempts = this.#stuck.after === after ? this.#stuck.attempts : 0
    if (attempts >= MOST_STUCK) {
      this.#stuck = NOT_STUCK
      throw expired(`${attempts} watches in a row ended before a whole revision had arrived`)
    }
    const [session, head] = await this.openAtHead({ signal, clock }, first.range)
    const openedAt = clock.now()
    const from = Math.min(...ranges.map((each) => each.from.revision))
    let isStuck = head.revision > from
    const lost = new Map<string, SourceError>()
    try {
      const batches = watchRanges(ranges, {
        session,
        head,
        cover: coverOf([first.range, ...others.map(({ range }) => range)]),
        lost,
        hasFragments: this.transport.hasFragments || attempts > 0,
        ...this.#settings,
        signal,
        clock,
        onProgressRequest,
        requestAudit: (reason) => requestAudit?.(reason),
        onServerVersion: (version) => this.#served(version, warn),
      })
      for await (const { parts, versions } of batches) {
        const [version = ''] = versions.values()
        isStuck &&= parseVersion(version).revision <= from
        const decoded = new Map<string, readonly WatchEvent<unknown>[]>()
        for (const [collection, events] of parts) {
          const { codec } = this.#member(collection)
          const own = events.map(({ isDelete, kv }) => (isDelete ? codec.delete(kv) : codec.put(kv)))
          decoded.set(collection, own)
        }
        yield { version, versions, parts: decoded, lost: new Map(lost) }
        lost.clear()
      }
    } finally {
      session.close()
      isStuck &&= clock.now() - openedAt >= this.#settings.progressMs
      this.#stuck = isStuck ? { after, attempts: attempts + 1 } : NOT_STUCK
    }
  }

  openAtHead(context: Pick<SourceContext, 'signal' | 'clock'>, range: KeyRange): Promise<[Session, Header]> {
    return this.open(context, (session, timeoutMs) => session.head(range, timeoutMs))
  }

  open<V>(
    { signal, clock }: Pick<SourceContext, 'signal' | 'clock'>,
    first: (session: Session, timeoutMs: number) => Promise<V>,
  ): Promise<[Session, V]> {
    return Session.open(this.transport, { signal, clock, timeoutMs: this.#settings.timeoutMs }, first)
  }

  #member(collection: string): Member {
    const member = this.#members.get(collection)
    if (member === undefined) throw new Error(`there is no collection ${collection}`)
    return member
  }

  /** Warns once of each server version that may lose events. */
  #served(version: string, warn: SourceContext['warn']): void {
    if (warn === undefined || this.#versionsSeen.has(version)) return
    this.#versionsSeen.add(version)
    if (losesEvents(version)) warn(`etcd ${version} ${KNOWN_LOSSES}`)
  }
}
