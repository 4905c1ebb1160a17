import type { KubernetesObject } from '../../../adapters/kubernetes/index.js'

/**
 * An object of the fake server.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes()
 * for (const { metadata, ...fields } of server.list('v1', 'ConfigMap')) console.log(metadata.name, fields['data'])
 * ```
 */
export interface FakeObject extends KubernetesObject {
  /** The fields that every object has, and those that a client wrote. */
  readonly metadata: KubernetesObject['metadata'] & { readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/**
 * The names of an object.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes()
 * const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default' } }
 * server.put(web)
 * server.delete(web)
 * console.log(server.get(web)) // undefined
 * ```
 */
export interface FakeReference {
  /** The group and the version: `apps/v1`, or `v1` for the core group. */
  readonly apiVersion: string
  /** The kind: `Pod`. */
  readonly kind: string
  /** The name, and the namespace unless the kind has none. */
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/**
 * An object to write. The server adds the `uid`, the versions and the times.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes()
 * server.put({
 *   apiVersion: 'v1',
 *   kind: 'Pod',
 *   metadata: { name: 'web', namespace: 'default', labels: { app: 'web' } }, // The server adds the uid.
 *   status: { phase: 'Running' },
 * })
 * ```
 */
export interface FakeObjectDraft extends FakeReference {
  /** The name, the namespace, and what else it has: labels, annotations, owners. */
  readonly metadata: FakeReference['metadata'] & { readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

export function jsonOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object(value) : {}
}

export function isSameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]))
}
