import type { SeededRandom } from '../../testing/seeded-random.js'

export type Json = Readonly<Record<string, unknown>>

/**
 * A write to the object `name` of a resource. Texts of the body such as `$uid` stand for values that each server has
 * chosen itself.
 */
export interface RandomWrite {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly subresource?: string
  readonly type: string
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  /** Whether it is an apply of which a server stores only a part. */
  readonly hasIgnored?: boolean
}

export type RandomKind = 'ConfigMap' | 'Widget'

const MANAGERS = ['one', 'two', 'three'] as const
const FINALIZERS = ['example.com/one', 'example.com/two', 'orphan', 'foregroundDeletion'] as const
const POLICIES = ['Foreground', 'Background', 'Orphan', 'Other'] as const
const SCALARS = ['0', '1', '2'] as const
const NAMES = ['a', 'b', 'c'] as const
const IDENTITY: ReadonlySet<string> = new Set(['name', 'namespace', 'resourceVersion', 'uid'])
const WRITABLE: ReadonlySet<string> = new Set(['annotations', 'finalizers', 'labels', 'ownerReferences'])
const OWNERS = ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: `uid-of-${name}` }))

/** Random writes to one object, which depend on its state. */
export class RandomWrites {
  readonly #random: SeededRandom
  readonly #kind: RandomKind
  readonly #name: string

  constructor(random: SeededRandom, kind: RandomKind, name: string) {
    this.#random = random
    this.#kind = kind
    this.#name = name
  }

  next(current: Json | undefined): RandomWrite {
    const random = this.#random
    const kinds = ['put', 'merge', 'json', 'strategic', 'apply', 'apply', 'apply', 'delete'] as const
    const isMissing = current === undefined
    switch (isMissing && random.chance(0.6) ? random.pick(['create', 'apply'] as const) : random.pick(kinds)) {
      case 'put':
        return this.#put(current)
      case 'merge':
        return this.#patch('merge-patch+json', this.#change())
      case 'json':
        return this.#patch('json-patch+json', this.#operations(current))
      case 'strategic':
        return this.#patch('strategic-merge-patch+json', this.#change())
      case 'apply':
        return this.#apply()
      case 'delete':
        return random.chance(0.5) && !isMissing ? this.#apply() : this.#delete()
      case 'create':
        return this.#create()
    }
  }

  #create(): RandomWrite {
    return {
      method: 'POST',
      type: 'application/json',
      query: this.#manager(),
      body: this.#conditional(this.#draft(), 0.05),
    }
  }

  #put(current: Json | undefined): RandomWrite {
    const draft = this.#draft()
    const isReplaced = this.#random.chance(0.3)
    const { managedFields: _fields, ...metadata } = (current?.['metadata'] ?? {}) as Json
    const changed = { ...current, ...this.#some(draft), metadata: { ...metadata, ...this.#metadata() } }
    const body = this.#conditional(isReplaced || current === undefined ? draft : changed, 0.7)
    return { method: 'PUT', ...this.#part(), type: 'application/json', query: this.#manager(), body }
  }

  #patch(type: string, body: unknown): RandomWrite {
    const known = this.#random.chance(0.99) ? type : 'json'
    return {
      method: 'PATCH',
      ...this.#part(),
      type: `application/${known}`,
      query: { ...this.#manager(), ...(this.#random.chance(0.02) ? { force: 'true' } : {}) },
      body,
    }
  }

  #apply(): RandomWrite {
    const random = this.#random
    const query = {
      ...(random.chance(0.98) ? { fieldManager: random.pick(MANAGERS) } : {}),
      ...(random.chance(0.4) ? { force: random.pick(['true', 'true', 'false']) } : {}),
    }
    const body = this.#conditional(this.#draft(), 0.07)
    const part = this.#part()
    const hasIgnored = ignoresFields(body, part.subresource !== undefined)
    return { method: 'PATCH', ...part, type: 'application/apply-patch+yaml', query, body, hasIgnored }
  }

  #delete(): RandomWrite {
    const random = this.#random
    const preconditions = {
      ...(random.chance(0.2) ? { uid: random.pick(['$uid', '$uid', 'other']) } : {}),
      ...(random.chance(0.2) ? { resourceVersion: random.pick(['$version', '$version', '$oldVersion']) } : {}),
    }
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      ...(Object.keys(preconditions).length > 0 || random.chance(0.1) ? { preconditions } : {}),
      ...(random.chance(0.4) ? { propagationPolicy: random.pick(POLICIES) } : {}),
      ...(random.chance(0.1) ? { orphanDependents: random.chance(0.5) } : {}),
    }
    const isQuery = random.chance(0.2)
    const option = random.chance(0.5)
      ? { propagationPolicy: random.pick(POLICIES) }
      : { orphanDependents: random.pick(['true', 'false']) }
    const query = isQuery ? option : {}
    return { method: 'DELETE', type: 'application/json', query, body: isQuery || random.chance(0.2) ? undefined : body }
  }

  #draft(): Json {
    const apiVersion = this.#kind === 'Widget' ? 'example.com/v1' : 'v1'
    const object = {
      apiVersion,
      kind: this.#kind,
      metadata: { name: this.#name, ...this.#metadata() },
      ...this.#fields(),
    }
    if (this.#random.chance(0.97)) return object
    const isOtherKind = this.#kind === 'ConfigMap' && this.#random.chance(0.5)
    return { ...object, ...(isOtherKind ? { kind: 'Other' } : { apiVersion: 'example.com/v9' }) }
  }

  #fields(): Json {
    const random = this.#random
    if (this.#kind === 'ConfigMap') return random.chance(0.8) ? { data: this.#map(SCALARS) } : {}
    const nested = random.chance(0.3) ? { map: this.#map([0, 1, {}]) } : {}
    const list = random.chance(0.3) ? { list: random.pick([[], [1], [1, 2]]) } : {}
    const spec = { ...this.#map(random.chance(0.9) ? [0, 1] : [0, [2], {}, { b: 1 }]), ...nested, ...list }
    return {
      ...(random.chance(0.8) ? { spec } : {}),
      ...(random.chance(0.4) ? { status: this.#map([0, 1, [1], {}]) } : {}),
    }
  }

  #map(values: readonly unknown[]): Json {
    return Object.fromEntries(
      NAMES.filter(() => this.#random.chance(0.4)).map((name) => [name, this.#random.pick(values)]),
    )
  }

  #metadata(): Json {
    const random = this.#random
    const finalizers = (random.chance(0.9) ? FINALIZERS.slice(0, 2) : FINALIZERS).filter(() => random.chance(0.4))
    return {
      ...(random.chance(0.3) ? { labels: this.#map(SCALARS) } : {}),
      ...(random.chance(0.1) ? { annotations: this.#map(SCALARS) } : {}),
      ...(random.chance(0.2) ? { finalizers } : {}),
      ...(random.chance(0.1) ? { ownerReferences: OWNERS.filter(() => random.chance(0.6)) } : {}),
      ...(random.chance(0.03) ? { generation: 7 } : {}),
      ...(random.chance(0.03) ? { creationTimestamp: '2020-01-01T00:00:00Z' } : {}),
      ...(random.chance(0.03) ? { deletionTimestamp: '2020-01-01T00:00:00Z' } : {}),
      ...(random.chance(0.03) ? { deletionGracePeriodSeconds: 5 } : {}),
      ...(random.chance(0.03) ? { name: random.pick(['another', undefined]) } : {}),
      ...(random.chance(0.03) ? { namespace: random.pick(['default', 'another']) } : {}),
    }
  }

  /** The object with conditions about its version and uid. */
  #conditional(object: Json, probability: number): Json {
    const random = this.#random
    const { uid: _uid, resourceVersion: _version, ...metadata } = object['metadata'] as Json
    const conditions = {
      ...(random.chance(probability) ? { resourceVersion: random.chance(0.8) ? '$version' : '$oldVersion' } : {}),
      ...(random.chance(probability / 3) ? { uid: random.chance(0.8) ? '$uid' : 'other' } : {}),
    }
    return { ...object, metadata: { ...metadata, ...conditions } }
  }

  #change(): Json {
    const { apiVersion: _apiVersion, kind: _kind, metadata, ...fields } = this.#conditional(this.#draft(), 0.1)
    const { name, ...others } = metadata as Json
    const isNamed = name !== this.#name
    return this.#withNulls({ ...fields, metadata: { ...others, ...(isNamed ? { name } : {}) } })
  }

  #withNulls(value: Json): Json {
    const random = this.#random
    const entries = Object.entries(value).map(([name, each]) => {
      const isMap = typeof each === 'object' && each !== null && !Array.isArray(each)
      if (random.chance(name === 'metadata' ? 0.02 : 0.15)) return [name, null]
      return [name, isMap ? this.#withNulls(each as Json) : each]
    })
    return Object.fromEntries(entries)
  }

  #operations(current: Json | undefined): readonly Json[] {
    const paths = pathsOf(current ?? {}, '')
    const root = this.#kind === 'Widget' ? '/spec' : '/data'
    return Array.from({ length: 1 + this.#random.below(2) }, () => {
      const random = this.#random
      const isKnown = random.chance(0.5) && paths.length > 0
      const path = isKnown ? random.pick(paths) : `${root}/${random.pick(NAMES)}`
      const isText = path.startsWith('/data/') || path.startsWith('/metadata/')
      const value = random.pick<unknown>(isText ? SCALARS : [0, 1])
      const isList = /\/(finalizers|ownerReferences)\//.test(path)
      const op = random.pick(isList ? ['test', 'remove'] : ['test', 'add', 'add', 'replace', 'remove'])
      return op === 'remove' ? { op, path } : { op, path, value }
    })
  }

  #some(object: Json): Json {
    return Object.fromEntries(Object.entries(object).filter(() => this.#random.chance(0.5)))
  }

  #manager(): Readonly<Record<string, string>> {
    // The others write as the program of their user agent.
    return this.#random.chance(0.8) ? { fieldManager: this.#random.pick(MANAGERS) } : {}
  }

  #part(): { readonly subresource?: string } {
    return this.#random.chance(this.#kind === 'Widget' ? 0.25 : 0.02) ? { subresource: 'status' } : {}
  }
}

/** Whether a server stores only a part of the object that is applied. */
function ignoresFields({ spec, status, data, metadata }: Json, isStatus: boolean): boolean {
  const isStored = ([name, value]: readonly [string, unknown]): boolean =>
    IDENTITY.has(name) || (!isStatus && WRITABLE.has(name) && !isEmpty(value))
  const isComplete = Object.entries(metadata as Json).every(isStored)
  return !isComplete || (isStatus ? spec : status) !== undefined || isEmpty(data)
}

export function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** The JSON pointers that a patch can change. */
function pathsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null || path.includes('/ownerReferences/')) return [path]
  return Object.entries(value)
    .filter(([name]) => path !== '' || ['spec', 'data', 'status', 'metadata'].includes(name))
    .filter(
      ([name]) => path !== '/metadata' || ['labels', 'annotations', 'finalizers', 'ownerReferences'].includes(name),
    )
    .flatMap(([name, each]) => pathsOf(each, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`))
}
