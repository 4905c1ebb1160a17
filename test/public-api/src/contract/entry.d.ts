import type { Version } from './version.js';
/**
 * One stored object.
 *
 * @example
 * ```ts
 * const entry = orders.entry('42')
 * await fetch('https://shop.example/orders/42', {
 *   method: 'PUT',
 *   headers: { 'if-match': entry?.version ?? '*' }, // Fails if the order has changed since.
 *   body: JSON.stringify({ ...entry?.object, paid: true }),
 * })
 * ```
 */
export interface Entry<T> {
    /** Identifies the object in the mirror. */
    readonly key: string;
    /** The object itself. */
    readonly object: T;
    /**
     * The object's own version, if the source has one. In a watch, an equal version means an unchanged object; a relist
     * compares by content instead.
     */
    readonly version?: Version;
    /** The identity of the object, if the source has one. Another uid under the same key is a delete, then an add. */
    readonly uid?: string;
}
