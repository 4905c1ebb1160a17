import type { Informer, InformerOptions } from './informer-types.js';
/**
 * Creates an informer, which mirrors a source into an indexed store. It opens no connection before `start`.
 *
 * @returns The informer, which is idle until `start`.
 * @throws OptionError for an unknown or a wrong option.
 * @throws TypeError if the source lacks `name`, `list` or `watch`, or if `audit` is set and it cannot compare versions.
 *
 * @example
 * ```ts
 * const informer = createInformer({
 *   source,
 *   indexes: (ix) => ({ status: ix.equal((order: Order) => order.status) }),
 * })
 * informer.on('error', (error) => console.error(error.message))
 * await informer.start().synced({ timeoutMs: 30_000 })
 * console.log(informer.by.status('open'))
 * await informer.stop()
 * ```
 */
export declare function createInformer<S, I extends object, P = S, T = P>(options: InformerOptions<S, I, P, T>): Informer<T, I>;
