import { createHash } from 'node:crypto'
import { systemClock, wallNowOf } from '../../../src/contract/clock.js'
import type { Eviction, LeaseLostError, LeaseRecord, LeaseSession } from '../../../src/contract/leases.js'
import { parseJson } from '../../common/json-depth.js'
import { LeaseConnection } from '../../common/lease-connection.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import {
  ChangeDetector,
  encodeBody,
  hasReleased,
  LeaseViews,
  leaseLost,
  RewindDetector,
  type StoredRecord,
} from '../../common/lease-records.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { refused, unavailable } from '../../common/source-errors.js'
import { byteLinesOf } from '../decode/line-splitter.js'
import { apiStatusIn } from '../http/api-error.js'
import { type ApiRequest, ApiSession } from '../http/api-session.js'
import type { Credentials } from '../http/credentials.js'
import { IDLE } from '../http/response-body.js'
import { WatchStream } from '../watch/watch-stream.js'

export interface SessionSettings extends LeaseSettings {
  readonly credentials: Credentials
  readonly namespace: string
  readonly group: string
}

const API_VERSION = 'coordination.k8s.io/v1'
const GROUP_LABEL = 'listwatch/group'
const RENEWAL = 'listwatch/renewal'
const BODY = 'listwatch/record'

const VERBS = ['create', 'get', 'list', 'watch', 'update', 'delete']

interface LeaseObject extends StoredRecord {
  readonly uid: string
  readonly resourceVersion: string
  readonly acquireTime: unknown
}

const NOT_FOUND = 404
const CONFLICT = 409
/** Most bytes of an event of a watch. A Lease object has less than 2 MiB. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024
/** The server sends a bookmark about once a minute. A watch that is silent for longer is lost, in milliseconds. */
const MAX_SILENCE_MS = 150_000

type Changed = (released?: string) => void

export function kubernetesLeaseSession(settings: SessionSettings): LeaseSession {
  const { credentials, name, leaseMs, requestMs } = settings
  const requests = leaseRequests(settings)
  const views = new LeaseViews(name)
  const rewinds = new RewindDetector()
  const changes = new ChangeDetector()
  let known: ReadonlyMap<string, LeaseObject> = new Map()
  let written: LeaseObject | undefined
  /** The member of the last request. Its own writes are ignored. */
  let own: string | undefined

  const open = (signal: AbortSignal): ApiSession =>
    new ApiSession(credentials, { signal, clock: systemClock, timeoutMs: requestMs })
  const connection = new LeaseConnection(async (signal) => open(signal))
  const lost = (record: LeaseRecord, found: LeaseObject | undefined): LeaseLostError =>
    leaseLost(name, record, found?.renewal)
  const read = async (api: ApiSession, member: string): Promise<LeaseObject | undefined> => {
    const found = await orUndefined(NOT_FOUND, api.json(requests.get(member)))
    return found === undefined ? undefined : leaseObjectOf(found)
  }

  /** Returns undefined if the object is another one by now, or does not exist. */
  const update = async (api: ApiSession, record: LeaseRecord, before: LeaseObject) => {
    const updated = await orUndefined(CONFLICT, orUndefined(NOT_FOUND, api.json(requests.update(record, before))))
    return updated === undefined ? undefined : leaseObjectOf(updated)
  }

  /** Writes the record, and returns its object. Each write depends on the object that it replaces. */
  const write = async (api: ApiSession, record: LeaseRecord): Promise<LeaseObject> => {
    if (record.renewal === 0) {
      await api.json(requests.probe()) // Without the right to list, each attempt would leave an object.
      const created = await orUndefined(CONFLICT, api.json(requests.create(record)))
      if (created === undefined) throw lost(record, await read(api, record.member))
      return leaseObjectOf(created)
    }
    const last = written?.member === record.member ? written : undefined
    if (last !== undefined && last.renewal >= record.renewal) throw lost(record, last)
    const updated = last === undefined ? undefined : await update(api, record, last)
    if (updated !== undefined) return updated
    // An earlier request of this member may have been executed, although its response did not arrive.
    const found = await read(api, record.member)
    if (found === undefined || !(found.renewal < record.renewal)) throw lost(record, found)
    if (last !== undefined && found.renewal < last.renewal) {
      rewinds.lostWrite()
      throw lost(record, found)
    }
    const again = await update(api, record, found)
    if (again === undefined) throw unavailable('the Lease object was changed at the same time')
    return again
  }

  const evictFrom = async (api: ApiSession, { member, renewal }: Eviction): Promise<void> => {
    const seen = known.get(member)
    const object = seen?.renewal === renewal ? seen : await read(api, member)
    if (object?.renewal !== renewal) return
    await orUndefined(CONFLICT, orUndefined(NOT_FOUND, api.json(requests.delete(member, object))))
  }

  /** Calls `changed` if another member changed its record in more than its renewal. */
  const observe = (event: unknown, changed: Changed): void => {
    const { type, object } = propertiesOf(event)
    if (type === 'BOOKMARK') return
    if (type === 'ERROR') throw unavailable('the server ended the watch')
    const { member, body } = leaseObjectOf(object)
    const isDelete = type === 'DELETED'
    if (isDelete) changes.removed(member)
    const isChanged = isDelete || changes.written(member, body)
    if (isChanged && member !== own) changed(isDelete || hasReleased(body) ? member : undefined)
  }

  /** Watches over a connection of its own, until it is lost. */
  const listen = async (changed: Changed, signal: AbortSignal): Promise<void> => {
    const api = open(signal)
    try {
      const body = await api.open(requests.watch())
      const stream = new WatchStream(api, { body, head: undefined }, MAX_EVENT_BYTES)
      for (;;) {
        const blocks = await stream.take(MAX_SILENCE_MS)
        if (blocks === undefined || blocks === IDLE) return
        for (const { bytes, isWhole } of blocks) {
          if (!isWhole) changed()
          else for (const line of byteLinesOf(bytes)) observe(parseJson(line.toString()), changed)
        }
      }
    } finally {
      api.close()
    }
  }

  return {
    renew: async (record, evict, signal) => {
      own = record.member
      return await connection.run(signal, async (api) => {
        written = await write(api, record)
        for (const each of evict) if (each.member !== record.member) await evictFrom(api, each)
        const sentAt = systemClock.now()
        const { objects, version } = leaseListOf(await api.json(requests.list()))
        signal.throwIfAborted()
        rewinds.observe(version)
        known = new Map(objects.map((object) => [object.member, object]))
        for (const { member, body } of objects) changes.written(member, body)
        const cluster = createHash('sha256').update(String(api.clusterId)).digest('hex').slice(0, 16)
        const view = { fence: version, epoch: rewinds.epoch(cluster), records: objects }
        return views.view(view, { sentAt, arrivedAt: systemClock.now() })
      })
    },
    leave: async (member) => {
      await connection.run(connection.signal, (api) => orUndefined(NOT_FOUND, api.json(requests.delete(member))))
    },
    watch: (changed, signal) => void keepListening(() => listen(changed, signal), { changed, leaseMs, signal }),
    close: async () => connection.close(),
  }
}

async function orUndefined(status: number, answer: Promise<unknown>): Promise<unknown> {
  return await answer.catch((error: unknown) => {
    if (apiStatusIn(error)?.code === status) return undefined
    throw error
  })
}

/** The requests for the Lease objects of one group. Each changes an object only if it has not changed meanwhile. */
function leaseRequests({ namespace, group, leaseMs }: SessionSettings) {
  const target = { group: 'coordination.k8s.io', plural: 'leases', namespace, verbs: VERBS }
  const all = `/apis/${API_VERSION}/namespaces/${namespace}/leases`
  const selection = `labelSelector=${encodeURIComponent(`${GROUP_LABEL}=${group}`)}`
  const pathOf = (member: string): string => `${all}/${group}-${member}`
  const objectOf = (record: LeaseRecord, before?: LeaseObject): object => {
    const { member, renewal } = record
    const now = new Date(wallNowOf(systemClock)).toISOString().replace('Z', '000Z')
    const identity = before === undefined ? {} : { uid: before.uid, resourceVersion: before.resourceVersion }
    const labels = { [GROUP_LABEL]: group }
    const annotations = { [RENEWAL]: String(renewal), [BODY]: encodeBody(record) }
    return {
      apiVersion: API_VERSION,
      kind: 'Lease',
      metadata: { name: `${group}-${member}`, namespace, labels, annotations, ...identity },
      // For people who look at it. Members compute with their own clocks.
      spec: {
        holderIdentity: member,
        leaseDurationSeconds: Math.ceil(leaseMs / 1_000),
        acquireTime: before?.acquireTime ?? now,
        renewTime: now,
      },
    }
  }

  return {
    // Without a resourceVersion it is read from a majority of etcd, or proves that it is as new.
    list: (): ApiRequest => ({ ...target, verb: 'list', path: `${all}?${selection}` }),
    probe: (): ApiRequest => ({ ...target, verb: 'list', path: `${all}?limit=1` }),
    watch: (): ApiRequest => ({
      ...target,
      verb: 'watch',
      path: `${all}?watch=true&allowWatchBookmarks=true&${selection}`,
    }),
    get: (member: string): ApiRequest => ({ ...target, verb: 'get', path: pathOf(member) }),
    create: (record: LeaseRecord): ApiRequest => ({ ...target, verb: 'create', path: all, body: objectOf(record) }),
    // The uid matters: a server may create a missing Lease by an update, and undo an eviction.
    update: (record: LeaseRecord, before: LeaseObject): ApiRequest => {
      return { ...target, verb: 'update', path: pathOf(record.member), body: objectOf(record, before) }
    },
    delete: (member: string, known?: LeaseObject): ApiRequest => {
      const { uid, resourceVersion } = known ?? {}
      const preconditions = known === undefined ? {} : { preconditions: { uid, resourceVersion } }
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...preconditions }
      return { ...target, verb: 'delete', path: pathOf(member), body }
    },
  }
}

/** The record in a Lease object. An object that someone else has written has no valid renewal, and is refused later. */
function leaseObjectOf(value: unknown): LeaseObject {
  const { metadata, spec } = propertiesOf(value)
  const { annotations, uid, resourceVersion } = propertiesOf(metadata)
  const { [RENEWAL]: renewal, [BODY]: body } = propertiesOf(annotations)
  const { holderIdentity, acquireTime } = propertiesOf(spec)
  return {
    member: String(holderIdentity),
    renewal: typeof renewal === 'string' ? Number(renewal) : Number.NaN,
    body: typeof body === 'string' ? body : '',
    uid: String(uid),
    resourceVersion: String(resourceVersion),
    acquireTime,
  }
}

function leaseListOf(value: unknown): { readonly objects: readonly LeaseObject[]; readonly version: number } {
  const { metadata, items } = propertiesOf(value)
  const { resourceVersion } = propertiesOf(metadata)
  const version = typeof resourceVersion === 'string' && /^\d+$/.test(resourceVersion) ? Number(resourceVersion) : 0
  if (version === 0 || !Number.isSafeInteger(version)) {
    const message = `the resourceVersion ${String(resourceVersion)} of a list of leases is not a safe integer, which a fence has to be`
    throw refused(message)
  }

  return { objects: elementsOf(items).map(leaseObjectOf), version }
}
