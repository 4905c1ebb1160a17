import type { SourceError } from './errors.js';
import type { Version } from './version.js';
/** Where log lines go; `console` fits. */
export interface Logger {
    debug(message: string, fields?: object): void;
    info(message: string, fields?: object): void;
    warn(message: string, fields?: object): void;
    error(message: string, fields?: object): void;
}
/**
 * What a mirror is doing:
 *
 * - `idle` not started · `listing` the first list · `relisting` a later one, the store stays readable
 * - `connecting` the watch was opened and has said nothing yet · `live` it has
 * - `backing-off` waiting before the next attempt · `failed` the source refuses for good; retried at growing
 *   distances, up to 15 to 30 s
 * - `stopped` for ever
 */
export type State = 'idle' | 'listing' | 'connecting' | 'live' | 'backing-off' | 'relisting' | 'failed' | 'stopped';
export interface Status {
    readonly state: State;
    /** Whether the first list is in the store. */
    readonly isSynced: boolean;
    readonly version: Version | undefined;
    /** Why the state is what it is, in words. */
    readonly reason: string;
    readonly lastError: SourceError | undefined;
    /** When the source last said something, in milliseconds since the epoch. */
    readonly lastContactAt: number | undefined;
    /** Milliseconds since the source last said something; before that, since the start. */
    readonly staleMs: number;
    /** Milliseconds from commit at the source to here, of the newest batch; undefined where the source does not tell. */
    readonly lagMs: number | undefined;
    /** Attempts since something last arrived; 0 while it does. */
    readonly attempt: number;
    /** Milliseconds to the next attempt, while one is waited for. */
    readonly retryInMs: number | undefined;
    /** Lists after the first one. */
    readonly relists: number;
    /** Watches opened again after one that broke. */
    readonly reconnects: number;
    /** Over several sources: each one's status. */
    readonly sources?: Readonly<Record<string, Status>>;
}
