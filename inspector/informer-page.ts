import type { Informer } from '../src/informer/informer-types.js'
import { isGroupMember } from '../src/informer/lifecycle.js'
import { cellOf, shortened } from './object-fields.js'
import { type JsonValue, jsonOf } from './object-json.js'
import { ObjectQueries, type ObjectQuery } from './object-query.js'
import { RecentChanges, type ShownChange } from './recent-changes.js'
import { digestsOf } from './store-digests.js'

export interface ObjectRow {
  readonly key: string
  /** The object as JSON in one line, at most 200 characters of it. Only if no fields are wanted. */
  readonly preview?: JsonValue
  /** The values of the wanted fields. Null if the object does not have the field. */
  readonly cells?: readonly JsonValue[]
}

export interface ObjectRows {
  readonly total: number
  /** Whether more objects match than were searched for. */
  readonly isCut: boolean
  /** How old the order of the rows is, in milliseconds. It is not new for each change if it takes long. */
  readonly ageMs: number
  readonly offset: number
  readonly rows: readonly ObjectRow[]
}

export interface ObjectPage {
  readonly key: string
  readonly version: string | undefined
  readonly uid: string | undefined
  /** Null: there is no such object. */
  readonly object: JsonValue
  readonly history: readonly ShownChange[]
}

export interface Sample {
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  readonly changes: number
  readonly size: number
  readonly state: string
  readonly lagMs: number | null
  readonly silentMs: number
  /** Milliseconds since the store was last proven equal to the source; null before the first proof. */
  readonly proofAgeMs: number | null
}

export class InformerPage {
  readonly informer: Informer<unknown, object>
  readonly #showsSecrets: boolean
  readonly queries: ObjectQueries
  readonly changes: RecentChanges

  constructor(informer: Informer<unknown, object>, showsSecrets: boolean) {
    this.informer = informer
    this.#showsSecrets = showsSecrets
    this.queries = new ObjectQueries(informer, showsSecrets)
    this.changes = new RecentChanges(informer, showsSecrets)
  }

  digests(reached: string | undefined, signal: AbortSignal): AsyncIterable<string> {
    return digestsOf(this.informer, this.#showsSecrets, reached, signal)
  }

  async rows(
    query: ObjectQuery,
    fields: readonly string[],
    offset: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<ObjectRows> {
    const { keys, total, isCut, ageMs } = await this.queries.keys(query, offset + limit, signal)
    const rows = keys.slice(offset, offset + limit).map((key) => {
      const object = this.informer.get(key)
      if (fields.length > 0)
        return { key, cells: fields.map((path) => cellOf(object, path, this.#showsSecrets) ?? null) }
      return { key, preview: shortened(JSON.stringify(jsonOf(object ?? null, this.#showsSecrets))) }
    })
    return { total, isCut, ageMs, offset, rows }
  }

  object(key: string): ObjectPage {
    const entry = this.informer.entry(key)
    return {
      key,
      version: entry?.version,
      uid: entry?.uid,
      object: jsonOf(entry?.object ?? null, this.#showsSecrets),
      history: this.changes.of(key),
    }
  }

  sample(): Sample {
    const { state, lagMs, silentMs, proof } = this.informer.status
    const at = Date.now()
    // The clock of the informer may stand still while the machine sleeps.
    const now = isGroupMember(this.informer) ? this.informer.clock.now() : at
    return {
      at,
      changes: this.changes.count,
      size: this.informer.size,
      state,
      lagMs: lagMs ?? null,
      silentMs,
      proofAgeMs: proof === undefined ? null : now - proof.at,
    }
  }
}
