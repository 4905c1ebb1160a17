import { type FakeResource, traitsOf } from './fake-resources.js'
import { badRequest, invalid } from './fake-status.js'
import { type FakeObject, isSameJson, type Json, jsonOf } from './objects/fake-object.js'

export interface Names {
  readonly resource: FakeResource
  readonly namespace: string | undefined
  readonly name: string
}

export function metadataOf(object: Json): Json {
  return jsonOf(object['metadata'])
}

/** Throws if the object is not of the resource. `isSent`: as a program sent it, which names the type of a custom one. */
export function checkKind(resource: FakeResource, object: Json, isSent = false): void {
  const { apiVersion, kind } = resource
  if (isSent && traitsOf(resource).isCustom) checkTyped(object)
  if ((object['apiVersion'] ?? apiVersion) !== apiVersion) throw badRequest(`the apiVersion must be ${apiVersion}`)
  const refusal = traitsOf(resource).isCustom ? invalid : badRequest
  if ((object['kind'] ?? kind) !== kind) throw refusal(`the kind must be ${kind}`)
}

/** Throws a 400 if the object does not name its type. */
export function checkTyped(object: Json): void {
  if (!(object['apiVersion'] && object['kind'])) throw badRequest('the object needs an apiVersion and a kind')
}

/** Throws a 400 if the object has other names than the request. `isSent`: see `checkKind`. */
export function checkNames({ resource, namespace, name }: Names, object: Json, isSent = false): void {
  checkKind(resource, object, isSent)
  const own = metadataOf(object)
  if (own['name'] !== name) throw badRequest(`the name of the object does not match the name on the URL (${name})`)
  // As a real server: the namespace of an object that has none is ignored.
  if (namespace !== undefined && (own['namespace'] ?? namespace) !== namespace)
    throw badRequest('the namespace of the object does not match the namespace on the request')
}

/** Throws a 422 if the finalizers contradict each other. */
export function checkFinalizers({ finalizers }: Json): void {
  const names: readonly unknown[] = Array.isArray(finalizers) ? finalizers : []
  if (names.includes('orphan') && names.includes('foregroundDeletion'))
    throw invalid('metadata.finalizers: orphan and foregroundDeletion cannot be both set')
}

/** The object as a server decodes it: without the fields that are left out if they are empty. */
export function decoded(object: Json, resource: FakeResource): Json {
  const { apiVersion, kind } = resource
  const { isCustom } = traitsOf(resource)
  const rest = isCustom ? object : withoutEmpty(object, (name) => ['binaryData', 'data', 'stringData'].includes(name))
  return { ...rest, apiVersion, kind, metadata: withoutEmpty(metadataOf(object), () => true) }
}

function withoutEmpty(object: Json, isMeant: (name: string) => boolean): Json {
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => !(isMeant(name) && isEmpty(value))))
}

function isEmpty(value: unknown): boolean {
  return value === null || isSameJson(value, {}) || isSameJson(value, [])
}

/** The empty fields of metadata, which kube-apiserver stores if server-side apply makes them in a custom resource. */
export function emptyOf(object: Json, resource: FakeResource): Json {
  if (!traitsOf(resource).isCustom) return {}
  return Object.fromEntries(Object.entries(metadataOf(object)).filter(([, value]) => isEmpty(value)))
}

export function withStatus(object: FakeObject, status: unknown): FakeObject {
  const { status: _status, ...rest } = object
  return status === undefined ? rest : { ...rest, status }
}

/** The next object, with the status and the metadata that only the server sets. */
export function withMetadata(object: FakeObject, next: Json): FakeObject {
  const old = object.metadata
  const draft = metadataOf(next)
  const { uid = old.uid, deletionGracePeriodSeconds = old['deletionGracePeriodSeconds'] } = draft
  const deletionTimestamp = old.deletionTimestamp ?? draft['deletionTimestamp']
  if (uid !== old.uid) throw invalid('metadata.uid: field is immutable')
  if (deletionTimestamp !== old.deletionTimestamp) throw invalid('metadata.deletionTimestamp: field is immutable')
  if (deletionGracePeriodSeconds !== old['deletionGracePeriodSeconds'])
    throw invalid('metadata.deletionGracePeriodSeconds: field is immutable')
  const { finalizers } = draft
  const added = (Array.isArray(finalizers) ? finalizers : []).filter((name) => !(old.finalizers ?? []).includes(name))
  if (old.deletionTimestamp !== undefined && added.length > 0)
    throw invalid('metadata.finalizers: no new finalizers can be added if the object is being deleted')
  checkFinalizers(draft)
  const { generation: _generation, namespace: _namespace, ...others } = draft
  const { namespace, generation } = old
  const own = { namespace, generation, deletionTimestamp, deletionGracePeriodSeconds }
  const metadata = {
    ...others,
    ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)),
    name: old.name,
    uid,
    resourceVersion: old.resourceVersion,
    creationTimestamp: old.creationTimestamp,
  }
  const { apiVersion, kind } = object
  return withStatus({ ...next, apiVersion, kind, metadata }, object['status'])
}

/** The fields whose changes `metadata.generation` counts. */
export function specOf(object: Json): Json {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, status: _status, ...spec } = object
  return spec
}
