import type { Clock } from '../contract/clock.js';
/** Work in steps. Each `yield` ends a step, after which the work may pause. */
export type Steps = Generator<void, void>;
/** Performs all steps at once. */
export declare function finish(steps: Steps): void;
/** Performs all steps at once, and returns their result. */
export declare function resultOf<R>(steps: Generator<void, R>): R;
/** Performs steps for one slice of time. Returns whether all are done. */
export declare function performSlice(steps: Steps, clock: Clock, { stepsPerCheck, sliceMs }: Slices): boolean;
/** Returns work of one step. */
export declare function single(act: () => void): Steps;
/** How large writes, and other work with many changes, are cut into slices. */
export interface Slices {
    /** A write of more changes runs in slices, and a replay that selects from more objects. */
    readonly largeWrite: number;
    /** The number of steps between two reads of the clock. */
    readonly stepsPerCheck: number;
    /** A slice ends after this time, in milliseconds. */
    readonly sliceMs: number;
    /** How many changes are routed to subscriptions in one step. */
    readonly changesPerStep: number;
}
export declare const DEFAULT_SLICES: Slices;
