import type { Informer, InformerOptions } from './informer-types.js';
/** Mirrors a source. Nothing is opened before `start`. */
export declare function createInformer<S, I extends object, P = S, T = P>(options: InformerOptions<S, I, P, T>): Informer<T, I>;
