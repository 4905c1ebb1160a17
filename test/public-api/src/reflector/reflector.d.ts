import { type Clock } from '../contract/clock.js';
import { type Random } from '../contract/random.js';
import { type ListerWatcher, type Sink } from '../contract/source.js';
/**
 * Keeps a sink equal to a source. It lists, watches from the version of the list, and resumes a broken watch from its
 * last version. It lists again only if the history after that is gone. It retries, with delays, until `signal` aborts.
 *
 * @example
 * ```ts
 * import { Indexer, Reflector } from 'listwatch'
 *
 * const store = new Indexer<Order>()
 * await new Reflector(source, store).run({ signal }) // Resolves when the signal aborts.
 * console.log(`${store.size} orders at ${store.version}`)
 * ```
 */
export declare class Reflector<T> {
    #private;
    constructor(source: ListerWatcher<T>, sink: Sink<T>, options?: {
        readonly clock?: Clock;
        readonly random?: Random;
    });
    /**
     * Runs until `signal` aborts, then resolves, even if the source is stalled.
     *
     * @throws TypeError if it was called before.
     */
    run(options: {
        readonly signal: AbortSignal;
    }): Promise<void>;
}
