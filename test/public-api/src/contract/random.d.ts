/** Where chance comes from: jitter draws from it, so that a seed reproduces a run. */
export interface Random {
    /** A number in [0, 1). */
    next(): number;
}
/** Real chance. */
export declare const systemRandom: Random;
