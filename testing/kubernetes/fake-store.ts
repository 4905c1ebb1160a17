import { systemClock } from '../../src/contract/clock.js'
import {
  checkFinalizers,
  checkKind,
  checkNames,
  checkTyped,
  decoded,
  emptyOf,
  metadataOf,
  type Names,
  specOf,
  withMetadata,
  withStatus,
} from './fake-metadata.js'
import { type FakeResource, traitsOf } from './fake-resources.js'
import { applyConflict, conflict, expired, internalError, invalid, notFound, Refusal } from './fake-status.js'
import { type FakeObject, isSameJson, type Json } from './objects/fake-object.js'
import { applied, type FieldOwners, isSameOwners, updatedOwners, type Writer } from './objects/field-owners.js'

/** A change, as a watch reports it. */
export interface Happening {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: FakeResource
  readonly version: number
  readonly object: FakeObject
}

/** A write through the API: its field manager, and the subresource that it writes. */
export interface Write {
  readonly manager: string
  readonly subresource?: string | undefined
}

/** The conditions and the effect of a deletion. */
export interface DeleteOptions {
  readonly uid?: unknown
  readonly resourceVersion?: unknown
  /** The finalizer of the garbage collector: empty for none. Default: as it is. */
  readonly finalizer?: string | undefined
}

interface Stored {
  readonly object: FakeObject
  readonly resource: FakeResource
  readonly owners: FieldOwners
  /** Empty metadata that is stored, and left out of `object`. */
  readonly empty: Json
}

/** The finalizers of the garbage collector. */
const COLLECTORS: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion'])

/** All objects of the fake server, with one history of all changes. */
export class FakeStore {
  onChange: (happening: Happening) => void = () => {}
  readonly #objects = new Map<string, Stored>()
  readonly #history: Happening[] = []
  version = 1_000
  #oldest = 1_000
  #uids = 0

  get(names: Names): FakeObject | undefined {
    return this.#objects.get(keyOf(names))?.object
  }

  /** Throws a 404 if there is no object. */
  read(names: Names): FakeObject {
    return this.#stored(names).object
  }

  /** The objects of a resource, sorted by namespace and name. */
  list(resource: FakeResource, namespace: string | undefined): readonly FakeObject[] {
    const isMeant = ({ resource: other, object }: Stored): boolean =>
      other === resource && (namespace === undefined || object.metadata.namespace === namespace)
    const found = [...this.#objects].filter(([, stored]) => isMeant(stored))
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { object }]) => object)
  }

  /** Throws a 410 if the history after this version is gone. */
  since(version: number): readonly Happening[] {
    if (version < this.#oldest) throw expired(`too old resource version: ${version} (${this.#oldest})`)
    return this.#history.filter((each) => each.version > version)
  }

  compact(): void {
    this.#oldest = ++this.version
    this.#history.length = 0
  }

  create(names: Names, draft: Json, write: Write): FakeObject {
    checkNames(names, draft)
    if (metadataOf(draft)['resourceVersion'] !== undefined)
      throw internalError('resourceVersion should not be set on objects to be created')
    const { uid: _uid, deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, ...metadata } = metadataOf(draft)
    const object = decoded({ ...draft, metadata }, names.resource)
    const owners = updatedOwners(new Map(), {}, object, writerOf(names.resource, write))
    return this.#add(names, object, owners)
  }

  /** Replaces the object, or its status. */
  replace(names: Names, next: Json, write: Write): FakeObject {
    checkNames(names, next, true)
    const stored = this.#stored(names)
    const { uid } = metadataOf(next)
    if (uid !== undefined && uid !== stored.object.metadata.uid) throw conflict(names.name)
    return this.#update(stored, next, write)
  }

  /** Replaces the object, or its status, by a changed copy. */
  patch(names: Names, change: (object: FakeObject) => Json, write: Write): FakeObject {
    const stored = this.#stored(names)
    const next = change(stored.object)
    checkNames(names, next)
    return this.#update(stored, next, write)
  }

  /** Server-side apply. Creates an object that does not exist, unless it is about the status. */
  apply(names: Names, config: Json, write: Write & { readonly isForced: boolean }): FakeObject {
    const { resource } = names
    const known = this.#objects.get(keyOf(names))
    if (known === undefined && write.subresource !== undefined) throw notFound(`${resource.plural} "${names.name}"`)
    checkTyped(config)
    checkKind(resource, config)
    const before = known?.object ?? {}
    const { object, owners, conflicts } = applied(known?.owners ?? new Map(), before, config, writerOf(resource, write))
    if (conflicts.length > 0 && !write.isForced) throw applyConflict(conflicts, resource.apiVersion)
    if (known === undefined && metadataOf(object)['uid'] !== undefined) throw conflict(names.name)
    checkNames(names, object)
    if (known !== undefined) return this.#commit(known, object, owners, write.subresource)
    return this.#add(names, object, owners)
  }

  /** Removes the object, or marks it as deleted while it has finalizers. */
  delete(names: Names, { uid, resourceVersion, finalizer }: DeleteOptions = {}): FakeObject {
    const stored = this.#stored(names)
    const { metadata } = stored.object
    if (uid !== undefined && uid !== metadata.uid) throw conflict(names.name)
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) throw conflict(names.name)
    const finalizers = metadata.finalizers ?? []
    const left = finalizers.filter((name) => finalizer === undefined || name === finalizer || !COLLECTORS.has(name))
    if (finalizer && !left.includes(finalizer)) left.push(finalizer)
    // As kube-apiserver: it has updated the finalizers, and takes that for another version.
    if (left.length === 0 && finalizers.length > 0 && resourceVersion !== undefined) throw conflict(names.name)
    if (left.length === 0) return this.#set(stored, 'DELETED')
    const { deletionTimestamp = time(), generation } = metadata
    const isCounted = metadata.deletionTimestamp === undefined && generation !== undefined
    const counted = isCounted ? { generation: generation + 1 } : {}
    const changed = { ...metadata, ...counted, deletionTimestamp, deletionGracePeriodSeconds: 0, finalizers: left }
    if (isSameJson([metadata, stored.empty], [changed, {}])) return stored.object
    return this.#set({ ...stored, object: { ...stored.object, metadata: changed }, empty: {} }, 'MODIFIED')
  }

  #stored(names: Names): Stored {
    const stored = this.#objects.get(keyOf(names))
    if (stored === undefined) throw notFound(`${names.resource.plural} "${names.name}"`)
    return stored
  }

  #add(names: Names, raw: Json, owners: FieldOwners): FakeObject {
    const { resource, namespace, name } = names
    const draft = decoded(raw, resource)
    if (this.#objects.has(keyOf(names)))
      throw new Refusal(409, 'AlreadyExists', `${resource.plural} "${name}" already exists`)
    const identity = { uid: `uid-${++this.#uids}`, resourceVersion: '', creationTimestamp: time() }
    const generation = traitsOf(resource).hasGeneration ? { generation: 1 } : {}
    const scope = namespace === undefined ? {} : { namespace }
    const { apiVersion, kind } = resource
    const { status: _status, ...rest } = draft
    const { namespace: _namespace, ...others } = metadataOf(draft)
    const metadata = { ...others, ...scope, name, ...identity, ...generation }
    checkFinalizers(metadata)
    const object = { ...rest, apiVersion, kind, metadata }
    return this.#set({ object, resource, owners, empty: emptyOf(raw, resource) }, 'ADDED')
  }

  #update(stored: Stored, next: Json, write: Write): FakeObject {
    const { object, resource } = stored
    const wanted = decoded(next, resource)
    const owners = updatedOwners(stored.owners, object, wanted, writerOf(resource, write))
    return this.#commit(stored, wanted, owners, write.subresource)
  }

  #commit(stored: Stored, raw: Json, owners: FieldOwners, subresource: string | undefined): FakeObject {
    const { object, resource } = stored
    const next = decoded(raw, resource)
    const empty = subresource === 'status' ? {} : emptyOf(raw, resource)
    const { isCustom, hasGeneration } = traitsOf(resource)
    const { resourceVersion } = metadataOf(next)
    if (resourceVersion === undefined && isCustom) throw invalid('metadata.resourceVersion: must be specified')
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion)
      throw conflict(object.metadata.name)
    const wanted = subresource === 'status' ? withStatus(object, next['status']) : withMetadata(object, next)
    const { deletionGracePeriodSeconds = 0, finalizers = [] } = wanted.metadata
    const isDeleted = object.metadata.deletionTimestamp !== undefined && finalizers.length === 0
    const type = isDeleted && deletionGracePeriodSeconds === 0 ? 'DELETED' : 'MODIFIED'
    const isSame = isSameJson([object, stored.empty], [wanted, empty]) && isSameOwners(stored.owners, owners)
    if (type === 'MODIFIED' && isSame) return object
    const isSpecChange = hasGeneration && !isSameJson(specOf(object), specOf(wanted))
    const generation = isSpecChange ? { generation: (object.metadata.generation ?? 0) + 1 } : {}
    const changed = { object: { ...wanted, metadata: { ...wanted.metadata, ...generation } }, resource, owners, empty }
    return this.#set(changed, type)
  }

  #set(stored: Stored, type: Happening['type']): FakeObject {
    const version = ++this.version
    const { object: before, resource } = stored
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(version) } }
    const { name, namespace } = object.metadata
    const key = keyOf({ resource, namespace, name })
    if (type === 'DELETED') this.#objects.delete(key)
    else this.#objects.set(key, { ...stored, object })
    const happening = { type, resource, version, object }
    this.#history.push(happening)
    this.onChange(happening)
    return object
  }
}

function keyOf({ resource: { apiVersion, plural }, namespace = '', name }: Names): string {
  return `${apiVersion}/${plural}/${namespace}/${name}`
}

function writerOf(resource: FakeResource, write: Write): Writer {
  return { ...write, isCustom: traitsOf(resource).isCustom }
}

function time(): string {
  return new Date(systemClock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
}
