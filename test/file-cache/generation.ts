import type { MirrorToSave, SavedRecord } from '../../src/contract/mirror-cache.js'
import { packerOf } from '../support/packed.js'

/** A mirror whose size and records depend on its generation: about 1 MB. */
export function generationOf(generation: number): MirrorToSave {
  const size = 8_000 + (generation % 50)
  const records = Array.from(
    { length: size },
    (_, i): SavedRecord => ({ type: 'entry', key: `k${i}`, object: { generation, text: 'x'.repeat(80) } }),
  )
  return { version: String(generation), size, records: () => records, pack: packerOf(() => records) }
}
