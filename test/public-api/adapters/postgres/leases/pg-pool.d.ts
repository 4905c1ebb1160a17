/** A client that a pool lends. */
export interface PgPoolClient {
    /** Runs the statements of one message. */
    query(text: string): Promise<unknown>;
    /** Adds a listener of errors of the connection. */
    on(event: 'error', listener: (error: Error) => void): unknown;
    /** Removes a listener. */
    off(event: 'error', listener: (error: Error) => void): unknown;
    /** Returns the client to the pool. `true`: its connection is broken, and is closed. */
    release(isBroken?: boolean): void;
}
/** The part of a `Pool` of pg 8 that leases use. */
export interface PgPool {
    /** Returns a client that is connected. */
    connect(): Promise<PgPoolClient>;
}
