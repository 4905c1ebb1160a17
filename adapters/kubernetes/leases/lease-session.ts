import { createHash } from 'node:crypto'
import { systemClock } from '../../../src/contract/clock.js'
import type { Eviction, LeaseLostError, LeaseRecord, LeaseSession, LeaseView } from '../../../src/contract/leases.js'
import { parseJson } from '../../common/json-depth.js'
import { LeaseConnection } from '../../common/lease-connection.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import { ChangeDetector, hasReleased, LeaseViews, leaseLost, RewindDetector } from '../../common/lease-records.js'
import { propertiesOf } from '../../common/properties.js'
import { unavailable } from '../../common/source-errors.js'
import { byteLinesOf } from '../decode/line-splitter.js'
import { apiStatusIn } from '../http/api-error.js'
import { ApiSession } from '../http/api-session.js'
import type { Credentials } from '../http/credentials.js'
import { IDLE } from '../http/response-body.js'
import { WatchStream } from '../watch/watch-stream.js'
import { type LeaseObject, type LeaseRequests, leaseListOf, leaseObjectOf, leaseRequests } from './lease-objects.js'

export interface SessionSettings extends LeaseSettings {
  readonly credentials: Credentials
  readonly namespace: string
  readonly group: string
}

const NOT_FOUND = 404
const CONFLICT = 409
/** Most bytes of an event of a watch. A Lease object has less than 2 MiB. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024
/** The server sends a bookmark about once a minute. A watch that is silent for longer is lost, in milliseconds. */
const MAX_SILENCE_MS = 150_000

export class KubernetesLeaseSession implements LeaseSession {
  readonly #settings: SessionSettings
  readonly #requests: LeaseRequests
  readonly #connection: LeaseConnection<ApiSession>
  readonly #views: LeaseViews
  readonly #rewinds = new RewindDetector()
  readonly #changes = new ChangeDetector()
  /** The objects of the last view. */
  #known: ReadonlyMap<string, LeaseObject> = new Map()
  /** The object that this session wrote last. */
  #own: LeaseObject | undefined
  /** The member of the last request. Its own writes are ignored. */
  #member: string | undefined

  constructor(settings: SessionSettings) {
    this.#settings = settings
    this.#requests = leaseRequests(settings)
    this.#connection = new LeaseConnection(async (signal) => this.#open(signal))
    this.#views = new LeaseViews(settings.name)
  }

  async renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView> {
    this.#member = record.member
    return await this.#connection.run(signal, async (api) => {
      this.#own = await this.#write(api, record)
      for (const each of evict) if (each.member !== record.member) await this.#evict(api, each)
      const sentAt = systemClock.now()
      const { objects, version } = leaseListOf(await api.json(this.#requests.list()))
      signal.throwIfAborted()
      this.#rewinds.observe(version)
      this.#known = new Map(objects.map((object) => [object.member, object]))
      for (const { member, body } of objects) this.#changes.written(member, body)
      const cluster = createHash('sha256').update(String(api.clusterId)).digest('hex').slice(0, 16)
      const view = { fence: version, epoch: this.#rewinds.epoch(cluster), records: objects }
      return this.#views.view(view, { sentAt, arrivedAt: systemClock.now() })
    })
  }

  async leave(member: string): Promise<void> {
    await this.#connection.run(this.#connection.signal, async (api) => {
      await orUndefined(NOT_FOUND, api.json(this.#requests.delete(member)))
    })
  }

  watch(changed: (released?: string) => void, signal: AbortSignal): void {
    void keepListening(() => this.#listen(changed, signal), { changed, leaseMs: this.#settings.leaseMs, signal })
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  #open(signal: AbortSignal): ApiSession {
    const { credentials, requestMs } = this.#settings
    return new ApiSession(credentials, { signal, clock: systemClock, timeoutMs: requestMs })
  }

  /** Writes the record, and returns its object. Each write depends on the object that it replaces. */
  async #write(api: ApiSession, record: LeaseRecord): Promise<LeaseObject> {
    if (record.renewal === 0) {
      const created = await orUndefined(CONFLICT, api.json(this.#requests.create(record)))
      if (created === undefined) throw this.#lost(record, await this.#read(api, record.member))
      return leaseObjectOf(created)
    }
    const last = this.#own?.member === record.member ? this.#own : undefined
    if (last !== undefined && last.renewal >= record.renewal) throw this.#lost(record, last)
    const updated = last === undefined ? undefined : await this.#update(api, record, last)
    if (updated !== undefined) return updated
    // An earlier request of this member may have been executed, although its response did not arrive.
    const found = await this.#read(api, record.member)
    if (found === undefined || !(found.renewal < record.renewal)) throw this.#lost(record, found)
    if (last !== undefined && found.renewal < last.renewal) {
      this.#rewinds.lostWrite()
      throw this.#lost(record, found)
    }
    const again = await this.#update(api, record, found)
    if (again === undefined) throw unavailable('the Lease object was changed at the same time')
    return again
  }

  /** Returns undefined if the object is another one by now, or does not exist. */
  async #update(api: ApiSession, record: LeaseRecord, before: LeaseObject): Promise<LeaseObject | undefined> {
    const request = api.json(this.#requests.update(record, before))
    const updated = await orUndefined(CONFLICT, orUndefined(NOT_FOUND, request))
    return updated === undefined ? undefined : leaseObjectOf(updated)
  }

  async #read(api: ApiSession, member: string): Promise<LeaseObject | undefined> {
    const found = await orUndefined(NOT_FOUND, api.json(this.#requests.get(member)))
    return found === undefined ? undefined : leaseObjectOf(found)
  }

  async #evict(api: ApiSession, { member, renewal }: Eviction): Promise<void> {
    const known = this.#known.get(member)
    const object = known?.renewal === renewal ? known : await this.#read(api, member)
    if (object?.renewal !== renewal) return
    await orUndefined(CONFLICT, orUndefined(NOT_FOUND, api.json(this.#requests.delete(member, object))))
  }

  #lost(record: LeaseRecord, found: LeaseObject | undefined): LeaseLostError {
    return leaseLost(this.#settings.name, record, found?.renewal)
  }

  /** Watches over a connection of its own, until it is lost. */
  async #listen(changed: (released?: string) => void, signal: AbortSignal): Promise<void> {
    const api = this.#open(signal)
    try {
      const body = await api.open(this.#requests.watch())
      const stream = new WatchStream(api, { body, head: undefined }, MAX_EVENT_BYTES)
      for (;;) {
        const blocks = await stream.take(MAX_SILENCE_MS)
        if (blocks === undefined || blocks === IDLE) return
        for (const { bytes, isWhole } of blocks) {
          if (!isWhole) changed()
          else for (const line of byteLinesOf(bytes)) this.#observe(parseJson(line.toString()), changed)
        }
      }
    } finally {
      api.close()
    }
  }

  /** Calls `changed` if another member changed its record in more than its renewal. */
  #observe(event: unknown, changed: (released?: string) => void): void {
    const { type, object } = propertiesOf(event)
    if (type === 'BOOKMARK') return
    if (type === 'ERROR') throw unavailable('the server ended the watch')
    const { member, body } = leaseObjectOf(object)
    const isDelete = type === 'DELETED'
    if (isDelete) this.#changes.removed(member)
    const isChanged = isDelete || this.#changes.written(member, body)
    if (isChanged && member !== this.#member) changed(isDelete || hasReleased(body) ? member : undefined)
  }
}

/** The answer, or undefined if it has this HTTP status. */
async function orUndefined(status: number, answer: Promise<unknown>): Promise<unknown> {
  return await answer.catch((error: unknown) => {
    if (apiStatusIn(error)?.code === status) return undefined
    throw error
  })
}
