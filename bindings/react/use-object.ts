import { useSyncExternalStore } from 'react'
import type { Informer } from '../../src/informer/informer-types.js'
import { signalOf } from './signal-of.js'

/**
 * Returns the object with this key, or `undefined` if there is none. The component renders again when the object has
 * changed. If `key` is `undefined`, so is the result. After `stop`, and while the source fails, it is the last object.
 *
 * @returns The object, or `undefined`.
 * @throws TypeError if `informer` is not an informer that `createInformer` returned.
 *
 * @example
 * ```ts
 * import { useObject } from 'listwatch/react'
 *
 * function Total({ id }: { id: string }): string {
 *   return `${useObject(orders, id)?.total ?? 'no such order'}`
 * }
 * ```
 */
export function useObject<T>(informer: Informer<T, object>, key: string | undefined): T | undefined {
  const read = (): T | undefined => (key === undefined ? undefined : informer.get(key))
  return useSyncExternalStore(signalOf('useObject', informer).listen, read, read)
}
