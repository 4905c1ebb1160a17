import { SourceError } from '../../../src/contract/errors.js'

/** A watch that can be ended from outside. */
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

  /**
   * Returns the schema of the mirror's objects. A watch that was opened before a change continues with the old schema.
   */
  of(mirror: object): string | undefined {
    return this.#schemas.get(mirror)
  }

  /**
   * Returns `VERSION_EXPIRED` if the mirror's objects have another schema than the server has now. The next list then
   * compares by content.
   */
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
