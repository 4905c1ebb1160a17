import { SourceError } from '../../../src/contract/errors.js'

/** A watch that can be ended. */
interface RevocableWatch {
  revoke(reason: SourceError): void
}

/** Which schema the objects were read with that each mirror holds. A mirror is identified by an object. */
export class SchemaOrigins {
  readonly #schemas = new WeakMap<object, string | undefined>()
  readonly #watches = new Map<RevocableWatch, object>()

  /** The schema with which the mirror's objects were read; undefined if it is unknown. */
  recordList(mirror: object, schema: string | undefined): void {
    this.#schemas.set(mirror, schema)
  }

  /** The schema of what the mirror holds. A watch that was opened before it changed goes on to tell objects of the schema before. */
  of(mirror: object): string | undefined {
    return this.#schemas.get(mirror)
  }

  /** `VERSION_EXPIRED` if the mirror holds objects of another schema than the server has now: its next list compares by content. */
  mismatch(mirror: object, schema: string | undefined): SourceError | undefined {
    // Of a list during which the server did not tell, nothing is known: it counts as another one.
    if (!this.#schemas.has(mirror) || schema === undefined || this.#schemas.get(mirror) === schema) return undefined
    const message = 'the schema of the resource has changed: its objects may have other content under the same versions'
    return new SourceError(message, { code: 'VERSION_EXPIRED' })
  }

  /** The mirror has a watch open until the result is called. */
  addWatch(mirror: object, watch: RevocableWatch): () => void {
    this.#watches.set(watch, mirror)
    return () => void this.#watches.delete(watch)
  }

  /** The server has this schema now: ends the watches of mirrors that hold objects of another one. */
  observe(schema: string | undefined): void {
    for (const [watch, mirror] of [...this.#watches]) {
      const expired = this.mismatch(mirror, schema)
      if (expired !== undefined) watch.revoke(expired)
    }
  }
}
