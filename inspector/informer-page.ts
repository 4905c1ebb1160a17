import type { Informer } from '../src/informer/informer-types.js'
import { isGroupMember } from '../src/informer/lifecycle.js'
import { type JsonValue, jsonOf } from './object-json.js'
import { type Facet, MAX_MATCHES, ObjectQueries } from './object-query.js'
import { RecentChanges, type ShownChange } from './recent-changes.js'
import { StoreDigests } from './store-digests.js'

/** One line of the list of objects. */
export interface ObjectRow {
  readonly key: string
  /** The object as JSON in one line, at most 200 characters of it. */
  readonly preview: string
}

/** A part of the list of objects. */
export interface ObjectRows {
  /** The number of matching objects. */
  readonly total: number
  /** Whether more objects match than were searched for. */
  readonly isCut: boolean
  readonly offset: number
  readonly rows: readonly ObjectRow[]
}

/** An object, and what recently happened to it. */
export interface ObjectPage {
  readonly key: string
  readonly version: string | undefined
  readonly uid: string | undefined
  /** Null: there is no such object. */
  readonly object: JsonValue
  readonly history: readonly ShownChange[]
}

/** A measurement that the page draws. */
export interface Sample {
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  /** Changes since the inspector began. */
  readonly changes: number
  readonly size: number
  readonly state: string
  readonly lagMs: number | null
  readonly staleMs: number
  /** Milliseconds since the store was last proven equal to the source; null before the first proof. */
  readonly proofAgeMs: number | null
}

const PREVIEW = 200

/** What the page shows of one informer. */
export class InformerPage {
  readonly informer: Informer<unknown, object>
  readonly #showsSecrets: boolean
  readonly #queries: ObjectQueries
  readonly changes: RecentChanges
  readonly digests: StoreDigests

  constructor(informer: Informer<unknown, object>, showsSecrets: boolean) {
    this.informer = informer
    this.#showsSecrets = showsSecrets
    this.#queries = new ObjectQueries(informer, showsSecrets)
    this.changes = new RecentChanges(informer, showsSecrets)
    this.digests = new StoreDigests(informer, showsSecrets)
  }

  facets(signal: AbortSignal): Promise<readonly Facet[]> {
    return this.#queries.facets(signal)
  }

  async rows(
    text: string,
    values: ReadonlyMap<string, string>,
    offset: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<ObjectRows> {
    const keys = await this.#queries.keys({ text, values }, signal)
    const rows = keys.slice(offset, offset + limit).map((key) => {
      const json = JSON.stringify(jsonOf(this.informer.get(key) ?? null, this.#showsSecrets))
      return { key, preview: json.length > PREVIEW ? `${json.slice(0, PREVIEW)}…` : json }
    })
    return { total: keys.length, isCut: keys.length >= MAX_MATCHES, offset, rows }
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
    const { state, lagMs, silentMs: staleMs, proof } = this.informer.status
    const at = Date.now()
    // The clock of the informer may stand still while the machine sleeps.
    const now = isGroupMember(this.informer) ? this.informer.clock.now() : at
    return {
      at,
      changes: this.changes.count,
      size: this.informer.size,
      state,
      lagMs: lagMs ?? null,
      staleMs,
      proofAgeMs: proof === undefined ? null : now - proof.at,
    }
  }
}
