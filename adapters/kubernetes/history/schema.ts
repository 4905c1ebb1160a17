import { SourceError } from '../../../src/contract/errors.js'
import { propertiesOf } from '../../common/properties.js'
import { apiStatusIn } from '../http/api-error.js'
import type { ApiSession } from '../http/api-session.js'
import { groupPath, type Resource } from '../http/discovery.js'

interface RevocableWatch {
  revoke(reason: SourceError): void
}

/** The schema of the objects that each mirror holds. A mirror is identified by an object. */
export class SchemaOrigins {
  readonly #schemas = new WeakMap<object, string | undefined>()
  readonly #watches = new Map<RevocableWatch, object>()

  /** The mirror's objects were read with this schema; undefined if it is unknown. */
  recordList(mirror: object, schema: string | undefined): void {
    this.#schemas.set(mirror, schema)
  }

  /** A watch that was opened before a change of the schema continues with the old one. */
  of(mirror: object): string | undefined {
    return this.#schemas.get(mirror)
  }

  /** Returns `VERSION_EXPIRED` if the mirror has another schema: the next list then compares by content. */
  mismatch(mirror: object, schema: string | undefined): SourceError | undefined {
    // A list whose schema is unknown never equals the server's schema.
    if (!this.#schemas.has(mirror) || schema === undefined || this.#schemas.get(mirror) === schema) return undefined
    const message = 'the schema of the resource has changed: its objects may have other content under the same versions'
    return new SourceError(message, { code: 'VERSION_EXPIRED' })
  }

  /** The mirror has this watch open until the result is called. */
  addWatch(mirror: object, watch: RevocableWatch): () => void {
    this.#watches.set(watch, mirror)
    return () => void this.#watches.delete(watch)
  }

  /** The server has this schema now. Watches of mirrors with another schema end. */
  observe(schema: string | undefined): void {
    for (const [watch, mirror] of [...this.#watches]) {
      const error = this.mismatch(mirror, schema)
      if (error !== undefined) watch.revoke(error)
    }
  }
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

/**
 * Returns a text that changes with the schema of a resource; undefined if the server shows none. Under another schema
 * the same objects may have other content with the same versions: a schema removes fields and adds defaults when
 * objects are read.
 *
 * The text has the hash of the published schemas of the API (OpenAPI v3). The server publishes it about a second after
 * it serves the new content, so a schema that changes and changes back may never show in it. The text of a custom
 * resource also has the generation of its definition, if the user may read that. A generation never comes back.
 */
export async function schemaVersion(session: ApiSession, resource: Resource): Promise<string | undefined> {
  try {
    const [hash, definition] = await Promise.all([publishedHash(session, resource), definitionOf(session, resource)])
    return hash === undefined || definition === undefined ? hash : `${hash} ${definition}`
  } catch (error) {
    // A server that answers with an error shows no schema. A server that does not answer is a failure of the list.
    if (apiStatusIn(error) === undefined && error instanceof SourceError && error.code !== 'PROTOCOL') throw error
    return undefined
  }
}

async function publishedHash(session: ApiSession, { apiVersion }: Resource): Promise<string | undefined> {
  const answer = await session.json({ verb: 'get', path: '/openapi/v3' })
  const { paths } = propertiesOf(answer)
  const name = groupPath(apiVersion).slice(1)
  const api = new Map(Object.entries(propertiesOf(paths))).get(name)
  const { serverRelativeURL } = propertiesOf(api)
  return typeof serverRelativeURL === 'string' ? serverRelativeURL : undefined
}

/** The incarnation and the generation of the definition; undefined if there is none, or the user may not read it. */
async function definitionOf(session: ApiSession, { group, plural }: Resource): Promise<string | undefined> {
  if (!group.includes('.')) return undefined // Definitions have groups with a dot.
  try {
    const path = `${DEFINITIONS}/${plural}.${group}`
    const { metadata } = propertiesOf(await session.json({ verb: 'get', path, accept: METADATA }))
    const { uid, generation } = propertiesOf(metadata)
    return `${uid}/${generation}`
  } catch (error) {
    const code = apiStatusIn(error)?.code
    if (code === 403 || code === 404) return undefined
    throw error
  }
}
