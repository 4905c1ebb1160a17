import { systemClock } from '../../src/contract/clock.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { JoinedChanges } from '../../src/informer/joined-changes.js'
import type { Change } from '../../src/queue/change.js'
import type { Equal } from '../../src/store/indexes/index-types.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import type { OpenSource, Row } from '../sources/source-types.js'

export type Indexes = Readonly<Record<string, Equal<Row, Scalar>>>

export interface Mirror {
  readonly open: OpenSource
  readonly rows: Informer<Row, Indexes>
}

/** Changes that belong together: one or more whole commits of all mirrors. */
export interface MirrorBatch<M> {
  readonly parts: readonly (readonly [M, readonly Change<Row>[]])[]
  readonly isSynced: boolean
  /** The version of the source, if there is one mirror. */
  readonly version: string | undefined
}

export async function* changesOf<M extends Mirror>(
  mirrors: readonly M[],
  signal: AbortSignal,
): AsyncGenerator<MirrorBatch<M>> {
  const [only, ...others] = mirrors
  if (only !== undefined && others.length === 0) {
    for await (const { changes, isSynced, version } of only.rows.changes({ signal }))
      yield { parts: [[only, changes]], isSynced, version }
    return
  }
  const informers = new Map(mirrors.map(({ open, rows }) => [open.of, rows]))
  for await (const { parts, isSynced } of new JoinedChanges<Row>(informers, systemClock, () => ({ signal })))
    yield { parts: mirrors.map((mirror) => [mirror, parts.get(mirror.open.of) ?? []]), isSynced, version: undefined }
}

/** The name of a mirror in output; undefined if there is no other one. */
export function nameAmong(mirrors: readonly Mirror[], { open }: Mirror): string | undefined {
  return mirrors.length > 1 ? open.of : undefined
}
