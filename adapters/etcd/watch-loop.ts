import type { Clock } from '../../src/clock.js'
import { messageOf, SourceError } from '../../src/errors.js'
import { etcdError, expired, forked, isCompacted, isTooLarge } from './etcd-errors.js'
import type { EtcdVersion } from './etcd-version.js'
import { assertReachable, doubtOf, gone, recognise } from './identity.js'
import { isInRange, type KeyRange } from './key-range.js'
import { type Mail, Mailbox } from './mailbox.js'
import type { EtcdEvent, Header, WatchResponse } from './messages.js'
import { Position } from './position.js'
import { Fragments, wholeRevisions } from './revisions.js'
import { isTrustworthy } from './server-version.js'
import type { Visit } from './visit.js'

export interface WatchSettings {
  readonly range: KeyRange
  readonly maxCatchup: number
  readonly requireLeader: boolean
  readonly hasFragments: boolean
  readonly progressMs: number
  readonly stallMs: number
}

export interface WatchWishes {
  readonly clock: Clock
  readonly signal: AbortSignal
  onNudge(listener: () => void): void
  /** All that can be proved is right, and yet. */
  doubt(reason: string): void
  /** The version of the server that tells. */
  served(version: string): void
}

/** Whole revisions, and the version after them; without events, a bookmark. */
export interface ToldRevisions {
  readonly events: readonly EtcdEvent[]
  readonly version: string
}

/**
 * Everything after `from`, over one stream. Where it is told is known by the events themselves: the header of a message
 * has the revision of the server then, which may be far ahead of what has been told.
 */
export async function* watchRange(
  visit: Visit,
  head: Header,
  from: EtcdVersion,
  settings: WatchSettings,
  wishes: WatchWishes,
): AsyncGenerator<ToldRevisions> {
  const { range, maxCatchup, requireLeader, hasFragments } = settings
  assertReachable(head, from)
  const behind = head.revision - from.revision
  if (behind > maxCatchup) {
    const detail = `${behind} revisions behind, more than maxCatchup (${maxCatchup}), and reading all is cheaper`
    throw gone(detail, doubtOf(from, head, await visit.status()))
  }
  const request = { key: range.start, end: range.end, startRevision: from.revision + 1, hasFragments }
  const mailbox = new Mailbox(await visit.watch(request, requireLeader), wishes.clock, wishes.signal)
  try {
    await created(mailbox, settings.stallMs)
    // Now, and not before: a server that was replaced in between would have ended the stream.
    const status = await visit.status()
    if (status !== undefined) wishes.served(status.version)
    const doubt = doubtOf(from, head, status)
    const newest = await recognise(visit, range, from, doubt)
    if (doubt !== undefined) wishes.doubt(doubt)
    const position = new Position({ ...from, term: head.term, raftIndex: status?.raftIndex ?? from.raftIndex }, newest)
    const isTrusted = status !== undefined && isTrustworthy(status.version)
    wishes.onNudge(() => mailbox.nudge())
    yield* new WatchLoop(visit, mailbox, position, settings, wishes.clock, isTrusted).run()
  } catch (error) {
    if (isTooLarge(error)) throw expired(`what came since is one message, ${messageOf(error)}`)
    if (error instanceof SourceError && error.code === 'UNAVAILABLE') visit.lose()
    throw error
  } finally {
    mailbox.close()
  }
}

/** Waits for the watch to be there; a compacted one is told of right after. */
async function created(mailbox: Mailbox, timeoutMs: number): Promise<void> {
  const mail = await mailbox.next(timeoutMs)
  if (mail === 'silence' || mail === 'nudge') {
    throw new SourceError(`no watch was opened within ${timeoutMs} ms`, { code: 'UNAVAILABLE' })
  }
  if (mail.isCanceled) throw canceled(mail)
}

class WatchLoop {
  readonly #visit: Visit
  readonly #mailbox: Mailbox
  readonly #position: Position
  readonly #settings: WatchSettings
  readonly #clock: Clock
  /** Whether what the server says of its progress is true. */
  readonly #isTrusted: boolean
  readonly #fragments = new Fragments()
  #heardAt: number
  /** Whether it was asked for its progress, and has ever answered: what stands between may not pass that on. */
  #progress: 'unasked' | 'asked' | 'answered' | 'none' = 'unasked'
  #comparedAt: number
  #differsSince: number | undefined

  constructor(
    visit: Visit,
    mailbox: Mailbox,
    position: Position,
    settings: WatchSettings,
    clock: Clock,
    isTrusted: boolean,
  ) {
    this.#visit = visit
    this.#mailbox = mailbox
    this.#position = position
    this.#settings = settings
    this.#clock = clock
    this.#isTrusted = isTrusted
    this.#heardAt = this.#comparedAt = clock.now()
  }

  async *run(): AsyncGenerator<ToldRevisions> {
    for (;;) {
      const mail: Mail = await this.#mailbox.next(this.#settings.progressMs)
      if (mail === 'nudge') {
        if (await this.#answersNudge()) yield await this.#bookmark()
      } else if (mail === 'silence') {
        if (await this.#isAlive()) yield await this.#bookmark()
      } else {
        this.#heard(mail)
        if (mail.events.length === 0 && !mail.isFragment && !this.#fragments.isWaiting) {
          if (!mail.isCreated) yield await this.#progressed(mail)
        } else yield* this.#told(mail)
      }
    }
  }

  #heard(message: WatchResponse): void {
    this.#heardAt = this.#clock.now()
    this.#differsSince = undefined
    if (message.isCanceled) throw canceled(message)
    if (message.header.clusterId !== this.#position.clusterId) throw forked('the cluster is another')
  }

  async *#told(message: WatchResponse): AsyncGenerator<ToldRevisions> {
    const whole = this.#fragments.whole(message)
    if (whole === undefined) return
    const { range } = this.#settings
    const { revision } = this.#position
    // Old servers send some twice; some sent what the user may not see, outside of the range.
    const isNew = ({ kv }: EtcdEvent): boolean => kv.modRevision > revision && isInRange(kv.key, range)
    const events = whole.every(isNew) ? whole : whole.filter(isNew)
    for (const part of wholeRevisions(events)) {
      this.#position.tell(part)
      yield { events: part, version: await this.#version() }
    }
  }

  async #progressed({ header }: WatchResponse): Promise<ToldRevisions> {
    this.#progress = 'answered'
    if (this.#isTrusted) this.#position.reach(header.revision)
    return await this.#bookmark()
  }

  /** Whether we can say more now; else an answer will come as a message. */
  async #answersNudge(): Promise<boolean> {
    if (this.#isTrusted && this.#progress !== 'none') {
      this.#ask()
      return false
    }
    return await this.#compare()
  }

  /** After silence: whether the server has shown by another way that it is there. Throws where it seems to be gone. */
  async #isAlive(): Promise<boolean> {
    const { stallMs, progressMs } = this.#settings
    const now = this.#clock.now()
    switch (this.#progress) {
      case 'answered':
        if (now - this.#heardAt >= stallMs) throw stalled(now - this.#heardAt)
        this.#ask()
        return false
      case 'unasked':
        this.#ask()
        return false
      case 'asked':
        if (now - this.#heardAt < 2 * progressMs) return false
        this.#progress = 'none'
        return await this.#compare()
      case 'none':
        if (now - this.#comparedAt >= stallMs) await this.#compare()
        else await this.#visit.head(this.#settings.range)
        return true
    }
  }

  #ask(): void {
    if (this.#progress === 'unasked') this.#progress = 'asked'
    this.#mailbox.askProgress()
  }

  /**
   * Compares what has been told with what there is: as many keys, and none that is newer, means that nothing happened, or
   * nothing that left a trace. So a position can be proved without the server's word for it; it costs a look at every key.
   */
  async #compare(): Promise<boolean> {
    const { range, stallMs } = this.#settings
    const { revision, count } = this.#position
    this.#comparedAt = this.#clock.now()
    const seen = await this.#visit.range({
      key: range.start,
      end: range.end,
      minModRevision: revision + 1,
      limit: 1,
      isKeysOnly: true,
    })
    if (seen.header.clusterId !== this.#position.clusterId) throw forked('the cluster is another')
    if (seen.header.revision < revision)
      throw forked(`the revision went back from ${revision} to ${seen.header.revision}`)
    if (seen.kvs.length === 0 && seen.count === count) {
      this.#position.reach(seen.header.revision)
      return true
    }
    // Then it has to be told soon, unless nobody is there any more who tells.
    this.#differsSince ??= this.#comparedAt
    const silentMs = this.#clock.now() - this.#differsSince
    if (silentMs >= stallMs) throw stalled(silentMs)
    return false
  }

  async #bookmark(): Promise<ToldRevisions> {
    return { events: [], version: await this.#version() }
  }

  #version(): Promise<string> {
    return this.#position.version(this.#visit, this.#settings.range)
  }
}

function stalled(ms: number): SourceError {
  return new SourceError(`no data for ${Math.round(ms)} ms`, { code: 'UNAVAILABLE' })
}

/** Why the server gave up a watch. Of compaction it says nothing but the number. */
function canceled({ compactRevision, cancelReason }: WatchResponse): SourceError {
  if (compactRevision > 0) return expired(`everything before revision ${compactRevision} has been compacted`)
  if (isCompacted(cancelReason)) return expired('it has been compacted')
  return etcdError(new Error(cancelReason === '' ? 'the server canceled the watch' : cancelReason))
}
