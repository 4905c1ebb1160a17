import { systemClock, wallNowOf } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { LeaseRecord } from '../../../src/contract/leases.js'
import { encodeBody, type StoredRecord } from '../../common/lease-records.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import type { ApiRequest } from '../http/api-session.js'

const API_VERSION = 'coordination.k8s.io/v1'
const GROUP_LABEL = 'listwatch/group'
const RENEWAL = 'listwatch/renewal'
const BODY = 'listwatch/record'

/** All verbs that leases need. */
const VERBS = ['create', 'get', 'list', 'watch', 'update', 'delete']

/** A record with the identity of its object. */
export interface LeaseObject extends StoredRecord {
  readonly uid: string
  readonly resourceVersion: string
  readonly acquireTime: unknown
}

/** Builds the requests for the Lease objects of one group. */
export class LeaseRequests {
  readonly #namespace: string
  readonly #group: string
  readonly #leaseMs: number

  constructor({ namespace, group, leaseMs }: { namespace: string; group: string; leaseMs: number }) {
    this.#namespace = namespace
    this.#group = group
    this.#leaseMs = leaseMs
  }

  /** Without a resourceVersion a list is read from a majority of etcd, or proves that it is as new. */
  list(): ApiRequest {
    return this.#request('list', `?${this.#selection()}`)
  }

  watch(): ApiRequest {
    return this.#request('watch', `?watch=true&allowWatchBookmarks=true&${this.#selection()}`)
  }

  get(member: string): ApiRequest {
    return this.#request('get', this.#path(member))
  }

  create(record: LeaseRecord): ApiRequest {
    return this.#request('create', '', this.#object(record))
  }

  /**
   * Replaces an object if it has not changed. The uid matters too: a server may create a Lease that does not exist by
   * an update, and an eviction would have no effect.
   */
  update(record: LeaseRecord, before: LeaseObject): ApiRequest {
    return this.#request('update', this.#path(record.member), this.#object(record, before))
  }

  /** Deletes an object if it has not changed. */
  delete(member: string, known?: LeaseObject): ApiRequest {
    const { uid, resourceVersion } = known ?? {}
    const preconditions = known === undefined ? {} : { preconditions: { uid, resourceVersion } }
    return this.#request('delete', this.#path(member), { kind: 'DeleteOptions', apiVersion: 'v1', ...preconditions })
  }

  #request(verb: ApiRequest['verb'], rest: string, body?: object): ApiRequest {
    const namespace = this.#namespace
    const path = `/apis/${API_VERSION}/namespaces/${namespace}/leases${rest}`
    const target = { verb, group: 'coordination.k8s.io', plural: 'leases', namespace, verbs: VERBS, path }
    return body === undefined ? target : { ...target, body }
  }

  #selection(): string {
    return `labelSelector=${encodeURIComponent(`${GROUP_LABEL}=${this.#group}`)}`
  }

  #path(member: string): string {
    return `/${this.#group}-${member}`
  }

  #object(record: LeaseRecord, before?: LeaseObject): object {
    const { member, renewal } = record
    const now = new Date(wallNowOf(systemClock)).toISOString().replace('Z', '000Z')
    const identity = before === undefined ? {} : { uid: before.uid, resourceVersion: before.resourceVersion }
    return {
      apiVersion: API_VERSION,
      kind: 'Lease',
      metadata: {
        name: `${this.#group}-${member}`,
        namespace: this.#namespace,
        labels: { [GROUP_LABEL]: this.#group },
        annotations: { [RENEWAL]: String(renewal), [BODY]: encodeBody(record) },
        ...identity,
      },
      // For people who look at it. Members compute with their own clocks.
      spec: {
        holderIdentity: member,
        leaseDurationSeconds: Math.ceil(this.#leaseMs / 1_000),
        acquireTime: before?.acquireTime ?? now,
        renewTime: now,
      },
    }
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

/** The objects of a list, and its version. */
export function leaseListOf(value: unknown): { readonly objects: readonly LeaseObject[]; readonly version: number } {
  const { metadata, items } = propertiesOf(value)
  const { resourceVersion } = propertiesOf(metadata)
  const version = typeof resourceVersion === 'string' && /^\d+$/.test(resourceVersion) ? Number(resourceVersion) : 0
  if (version === 0 || !Number.isSafeInteger(version)) {
    const message = `the resourceVersion ${String(resourceVersion)} of a list of leases is not a safe integer, which a fence has to be`
    throw new SourceError(message, { code: 'PROTOCOL' })
  }
  return { objects: elementsOf(items).map(leaseObjectOf), version }
}
