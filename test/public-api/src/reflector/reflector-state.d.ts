import type { SourceError } from '../contract/errors.js';
import type { State } from '../contract/status.js';
import { type Backoff } from './backoff.js';
/**
 * The policy of a reflector, as one pure function: `step(state, input) → { state, effect }`. The loop in reflector.ts
 * performs the effects and knows no policy. SPEC.md has the table.
 */
export interface ReflectorState {
    readonly name: State;
    /** What the next open does. */
    readonly next: 'list' | 'watch';
    /** The next list ignores versions: the history was rewound or forked, or is that of another server. */
    readonly ignoreVersions: boolean;
    readonly hasListed: boolean;
    /** Another list was requested while one was running. */
    readonly isListWanted: boolean;
    /** The delay between opens. The next open follows the previous one after 0.5 to 1 times this delay. */
    readonly spacing: Backoff;
    readonly openedAt: number | undefined;
    /** The last open was a watch that followed no list. */
    readonly isReopened: boolean;
    /** When the last reconnect without a delay was due. */
    readonly immediateAt: number | undefined;
    /** When the watch yielded its first batch. */
    readonly liveAt: number | undefined;
    readonly reason: string;
    readonly error: SourceError | undefined;
    readonly attempt: number;
    readonly retryAt: number | undefined;
    readonly staleLists: number;
    readonly relists: number;
    readonly reconnects: number;
}
/** What happens to a reflector. Times are in milliseconds; `chance` are two draws from [0, 1). */
export type Input = {
    readonly at: number;
    readonly chance: readonly [number, number];
} & ({
    readonly type: 'start';
}
/** The whole list was committed. */
 | {
    readonly type: 'listed';
}
/** The watch yielded a batch. */
 | {
    readonly type: 'batch';
}
/** The watch ended without an error. */
 | {
    readonly type: 'ended';
}
/** A list or a watch failed; `contactAt` is the time of the last response. */
 | {
    readonly type: 'failed';
    readonly error: SourceError;
    readonly contactAt: number | undefined;
}
/** The delay is over. */
 | {
    readonly type: 'delayElapsed';
}
/** A relist was requested. */
 | {
    readonly type: 'relist';
    readonly reason: string;
}
/** A list that waited for a relist slot begins. */
 | {
    readonly type: 'admitted';
} | {
    readonly type: 'stop';
    readonly reason: string;
});
export type InputType = Input['type'];
/** What the loop does next. `continue`: what it was doing. */
export type Effect = {
    readonly type: 'continue';
} | {
    readonly type: 'list';
    readonly ignoreVersions: boolean;
} | {
    readonly type: 'watch';
} | {
    readonly type: 'wait';
    readonly until: number;
} | {
    readonly type: 'end';
};
export interface Step {
    readonly state: ReflectorState;
    readonly effect: Effect;
}
/** Opens are at least this far apart, less up to half of it. */
export declare const INITIAL_SPACING_MS = 800;
export declare const MAX_SPACING_MS = 30000;
/** After an error nothing opens before a draw from the upper half of this. */
export declare const ERROR_DELAY_MS = 800;
/** The first reconnect after a break opens after a draw from [0, this): many mirrors of one server do not open at once. */
export declare const FIRST_RECONNECT_MS = 200;
/** Reconnects without a delay are at least this far apart; others wait as after any error. */
export declare const FIRST_RECONNECT_EVERY_MS = 10000;
export declare const initialState: ReflectorState;
type Of<Type extends InputType> = Extract<Input, {
    type: Type;
}>;
/** Every state with every input; the type has no room for a missing cell. */
type Table = {
    readonly [S in State]: {
        readonly [Type in InputType]: (state: ReflectorState, input: Of<Type>) => Step;
    };
};
export declare const table: Table;
export declare function step(state: ReflectorState, input: Input): Step;
export {};
