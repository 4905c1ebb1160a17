import { systemClock, wallNowOf } from '../../../src/contract/clock.js'
import type { LeaseRecord } from '../../../src/contract/leases.js'
import { encodeBody, type StoredRecord } from '../../common/lease-records.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { refused } from '../../common/source-errors.js'
import type { ApiRequest } from '../http/api-session.js'

const API_VERSION = 'coordination.k8s.io/v1'
const GROUP_LABEL = 'listwatch/group'
const RENEWAL = 'listwatch/renewal'
const BODY = 'listwatch/record'

const VERBS = ['create', 'get', 'list', 'watch', 'update', 'delete']

export interface LeaseObject extends StoredRecord {
  readonly uid: string
  readonly resourceVersion: string
  readonly acquireTime: unknown
}

export interface LeaseRequests {
  /** Without a resourceVersion a list is read from a majority of etcd, or proves that it is as new. */
  list(): ApiRequest
  watch(): ApiRequest
  get(member: string): ApiRequest
  create(record: LeaseRecord): ApiRequest
  /** If it has not changed. The uid matters: a server may create a missing Lease by an update, and undo an eviction. */
  update(record: LeaseRecord, before: LeaseObject): ApiRequest
  delete(member: string, known?: LeaseObject): ApiRequest
}

export function leaseRequests(settings: {
  readonly namespace: string
  readonly group: string
  readonly leaseMs: number
}): LeaseRequests {
  const { namespace, group, leaseMs } = settings
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
    list: () => ({ ...target, verb: 'list', path: `${all}?${selection}` }),
    watch: () => ({ ...target, verb: 'watch', path: `${all}?watch=true&allowWatchBookmarks=true&${selection}` }),
    get: (member) => ({ ...target, verb: 'get', path: pathOf(member) }),
    create: (record) => ({ ...target, verb: 'create', path: all, body: objectOf(record) }),
    update: (record, before) => {
      return { ...target, verb: 'update', path: pathOf(record.member), body: objectOf(record, before) }
    },
    delete: (member, known) => {
      const { uid, resourceVersion } = known ?? {}
      const preconditions = known === undefined ? {} : { preconditions: { uid, resourceVersion } }
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...preconditions }
      return { ...target, verb: 'delete', path: pathOf(member), body }
    },
  }
}

/** The record in a Lease object. An object that someone else has written has no valid renewal, and is refused later. */
export function leaseObjectOf(value: unknown): LeaseObject {
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

export function leaseListOf(value: unknown): { readonly objects: readonly LeaseObject[]; readonly version: number } {
  const { metadata, items } = propertiesOf(value)
  const { resourceVersion } = propertiesOf(metadata)
  const version = typeof resourceVersion === 'string' && /^\d+$/.test(resourceVersion) ? Number(resourceVersion) : 0
  if (version === 0 || !Number.isSafeInteger(version)) {
    const message = `the resourceVersion ${String(resourceVersion)} of a list of leases is not a safe integer, which a fence has to be`
    throw refused(message)
  }

  return { objects: elementsOf(items).map(leaseObjectOf), version }
}
