import type { Status } from '../../src/contract/status.js';
import type { Informer } from '../../src/informer/informer-types.js';
/**
 * Returns the status of an informer. The component renders again when its state, `isSynced`, its reason or its last
 * error has changed. Ages such as `staleMs`, and `version`, are those of that change.
 *
 * @returns The status at the last such change.
 * @throws TypeError if `informer` is not an informer that `createInformer` returned.
 *
 * @example
 * ```ts
 * import { useStatus } from 'listwatch/react'
 *
 * function Connection(): string {
 *   const { state, isSynced } = useStatus(orders)
 *   return state === 'live' ? 'connected' : isSynced ? 'connecting again' : 'loading'
 * }
 * ```
 */
export declare function useStatus<T>(informer: Informer<T, object>): Status;
