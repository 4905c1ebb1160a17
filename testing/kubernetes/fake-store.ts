import { systemClock } from '../../src/contract/clock.js'
import { type FakeObject, isSameJson, type Json, jsonOf } from './fake-object.js'
import type { FakeResource } from './fake-resources.js'
import { conflict, expired, invalid, notFound, Refusal } from './fake-status.js'
import { FieldOwners } from './field-owners.js'

/** A change, as a watch reports it. */
export interface Happening {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: FakeResource
  readonly version: number
  readonly object: FakeObject
}

/** The names of an object of a resource. */
export interface Names {
  readonly resource: FakeResource
  readonly namespace: string | undefined
  readonly name: string
}

/** The field manager of a write, and the part of the object that it writes. */
export interface Write {
  readonly manager: string
  readonly subresource?: string | undefined
}

interface Stored {
  readonly object: FakeObject
  readonly resource: FakeResource
  readonly owners: FieldOwners
  readonly statusOwners: FieldOwners
}

const META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status'])

/** All objects of the fake server, with one history of all changes. */
export class FakeStore {
  /** Called after each change. */
  onChange: (happening: Happening) => void = () => {}
  readonly #objects = new Map<string, Stored>()
  readonly #history: Happening[] = []
  #version = 1_000
  #oldest = 1_000
  #uids = 0

  get version(): number {
    return this.#version
  }

  get(names: Names): FakeObject | undefined {
    return this.#objects.get(keyOf(names))?.object
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
    this.#oldest = ++this.#version
    this.#history.length = 0
  }

  create(names: Names, draft: Json, { manager }: Write): FakeObject {
    if (this.#objects.has(keyOf(names)))
      throw new Refusal(409, 'AlreadyExists', `${names.resource.plural} "${names.name}" already exists`)
    const owners = new FieldOwners()
    const object = this.#born(names, draft)
    owners.write({}, object, manager)
    return this.#set({ object, resource: names.resource, owners, statusOwners: new FieldOwners() }, 'ADDED')
  }

  /** Replaces the object, or its status. Metadata that the server sets is kept. */
  update(names: Names, next: Json, { manager, subresource }: Write): FakeObject {
    const stored = this.#stored(names)
    const { object, owners, statusOwners } = stored
    const { uid, resourceVersion } = jsonOf(next['metadata'])
    if (uid !== undefined && uid !== object.metadata.uid) throw conflict(names.name)
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) throw conflict(names.name)
    const isStatus = subresource === 'status'
    const wanted = isStatus ? { ...object, status: next['status'] } : withMetadata(object, next)
    const parts = [partOf(object, isStatus), partOf(wanted, isStatus)] as const
    ;(isStatus ? statusOwners : owners).write(parts[0], parts[1], manager)
    return this.#change(stored, wanted)
  }

  /** Server-side apply. Creates an object that does not exist, unless it is about the status. */
  apply(names: Names, applied: Json, write: Write & { readonly isForced: boolean }): FakeObject {
    const known = this.#objects.get(keyOf(names))
    const isStatus = write.subresource === 'status'
    if (known === undefined && isStatus) throw notFound(`${names.resource.plural} "${names.name}"`)
    if (known === undefined) {
      const owners = new FieldOwners()
      const object = this.#born(names, owners.apply({}, partOf(applied, false), write))
      return this.#set({ object, resource: names.resource, owners, statusOwners: new FieldOwners() }, 'ADDED')
    }
    const { object, owners, statusOwners } = known
    const { uid, resourceVersion } = jsonOf(applied['metadata'])
    if (uid !== undefined && uid !== object.metadata.uid && !isStatus) throw invalid('metadata.uid: field is immutable')
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) throw conflict(names.name)
    const parts = [partOf(object, isStatus), partOf(applied, isStatus)] as const
    const merged = (isStatus ? statusOwners : owners).apply(parts[0], parts[1], write)
    return this.#change(known, isStatus ? { ...object, status: merged['status'] } : withMetadata(object, merged))
  }

  /** Removes the object, or marks it as deleted while it has finalizers. */
  delete(names: Names, preconditions: Json = {}): FakeObject {
    const stored = this.#stored(names)
    const { metadata } = stored.object
    for (const field of ['uid', 'resourceVersion'] as const)
      if (preconditions[field] !== undefined && preconditions[field] !== metadata[field]) throw conflict(names.name)
    if ((metadata.finalizers ?? []).length === 0) return this.#remove(stored)
    if (metadata.deletionTimestamp !== undefined) return stored.object
    const deleted = { deletionTimestamp: time(), deletionGracePeriodSeconds: 0 }
    return this.#set({ ...stored, object: { ...stored.object, metadata: { ...metadata, ...deleted } } }, 'MODIFIED')
  }

  #stored(names: Names): Stored {
    const stored = this.#objects.get(keyOf(names))
    if (stored === undefined) throw notFound(`${names.resource.plural} "${names.name}"`)
    return stored
  }

  #born({ resource: { apiVersion, kind }, namespace, name }: Names, draft: Json): FakeObject {
    const identity = { uid: `uid-${++this.#uids}`, resourceVersion: '', generation: 1, creationTimestamp: time() }
    const scope = namespace === undefined ? {} : { namespace }
    return { ...draft, apiVersion, kind, metadata: { ...jsonOf(draft['metadata']), ...scope, name, ...identity } }
  }

  #change(stored: Stored, next: FakeObject): FakeObject {
    const { object } = stored
    if (isSameJson(object, next)) return object
    const isSpecChange = [object, next].map((each) => Object.entries(each).filter(([name]) => !META.has(name)))
    const { generation } = object.metadata
    const metadata = { ...next.metadata, generation: isSameJson(...pairOf(isSpecChange)) ? generation : generation + 1 }
    const changed = { ...stored, object: { ...next, metadata } }
    const isOver = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
    return isOver ? this.#remove(changed) : this.#set(changed, 'MODIFIED')
  }

  #remove(stored: Stored): FakeObject {
    return this.#set(stored, 'DELETED')
  }

  #set(stored: Stored, type: Happening['type']): FakeObject {
    const version = ++this.#version
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

function pairOf<T>([a, b]: readonly T[]): [T | undefined, T | undefined] {
  return [a, b]
}

function keyOf({ resource: { apiVersion, plural }, namespace = '', name }: Names): string {
  return `${apiVersion}/${plural}/${namespace}/${name}`
}

/** The status, or everything else. */
function partOf(object: Json, isStatus: boolean): Json {
  const { status, ...rest } = object
  if (!isStatus) return rest
  return status === undefined ? {} : { status }
}

/** The next object, with the status and the metadata that only the server sets. */
function withMetadata(object: FakeObject, next: Json): FakeObject {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, namespace, name } = object.metadata
  const kept = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp, deletionGracePeriodSeconds: 0 }),
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
  }
  const { status: _status, ...rest } = next
  const status = object['status'] === undefined ? {} : { status: object['status'] }
  const { apiVersion, kind } = object
  return { ...rest, apiVersion, kind, metadata: { ...jsonOf(next['metadata']), ...kept }, ...status }
}

function time(): string {
  return new Date(systemClock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
}
