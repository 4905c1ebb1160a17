import { SourceError } from '../../src/contract/errors.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { structuralEqual } from '../../src/store/structural-equal.js'
import { changedFields } from '../args/fields.js'
import type { Row } from '../sources/source-types.js'
import type { Mirror, MirrorView } from './compare-mirror.js'

const REACH_MS = 30_000

export function localMirror(rows: Informer<Row>, signal: AbortSignal): Mirror {
  const view = async (): Promise<MirrorView> => {
    const snapshot = rows.snapshot()
    const invalid = new Set(rows.invalid.keys())
    const [[sourceName, version] = []] = rows.versions
    return {
      version,
      sourceName,
      has: (key) => snapshot.has(key),
      isInvalid: (key) => invalid.has(key),
      keys: () => snapshot.keys(),
      writeOf: (key) => snapshot.get(key), // Each write stores another object.
      isEqual: (key, object) => structuralEqual(snapshot.get(key), object),
      differingFields: async (key, object) => changedFields(snapshot.get(key), object),
      [Symbol.dispose]: () => snapshot[Symbol.dispose](),
    }
  }
  return {
    view,
    async viewAfter(version) {
      try {
        await rows.waitFor(version, { timeoutMs: REACH_MS, signal })
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
        if (error.code === 'EPOCH_CHANGED') return undefined
        if (error.code !== 'TIMEOUT') throw error
      }
      return await view()
    },
  }
}
