import { vi } from 'vitest'
import { EqualIndex } from '../../src/store/indexes/hash-index.js'

/** From now on equal indexes throw at the objects for which `isBroken`. Returns a function that ends this. */
export function breakEqualIndexes(isBroken: (ordinal: number, key: string) => boolean, error: Error): () => void {
  const { set } = EqualIndex.prototype
  const spy = vi.spyOn(EqualIndex.prototype, 'set').mockImplementation(function (
    this: EqualIndex<unknown>,
    ordinal,
    entry,
  ) {
    if (isBroken(ordinal, entry.key)) throw error
    set.call(this, ordinal, entry)
  })
  return () => spy.mockRestore()
}
