/** The client that the option `client` returns: `new pg.Client(…)` of pg 8, a new one for each connection. */
export interface PgClient {
    /** Opens the connection. */
    connect(): Promise<unknown>;
    /** Runs one statement and resolves with its rows. */
    query(text: string, values?: unknown[]): Promise<{
        rows: unknown[];
    }>;
    /** Closes the connection. */
    end(): Promise<void>;
}
/** The client on which a writer has opened a transaction, as `PostgresSource.mark` needs it. */
export interface PgTransaction {
    /** Runs one statement inside the transaction. */
    query(text: string): Promise<{
        rows: unknown[];
    }>;
}
/** A query that handles the server's messages itself, by pg's own protocol. */
export interface Submittable {
    submit(connection: PgConnection): void;
    handleError(error: unknown): void;
    handleReadyForQuery(): void;
    handleCopyData(message: {
        readonly chunk: Buffer;
    }): void;
    handleCommandComplete(): void;
    handleRowDescription(): void;
    handleDataRow(): void;
    handleEmptyQuery(): void;
    handlePortalSuspended(): void;
    handleCopyInResponse(): void;
    callback: () => void;
}
export interface PgConnection {
    query(text: string): void;
    readonly stream: {
        destroy(error?: Error): unknown;
        pause(): unknown;
        resume(): unknown;
        /** The number of received bytes. Sockets have it; other streams may not. */
        readonly bytesRead?: number;
    };
}
export interface QueryConfig {
    readonly text: string;
    readonly values?: readonly unknown[];
    readonly name?: string;
    readonly rowMode?: 'array';
    readonly types?: {
        getTypeParser(): (text: string) => unknown;
    };
}
/** The members of a client of pg 8 that a source uses. */
export interface NodePostgresClient {
    connect(): Promise<unknown>;
    query(config: QueryConfig): Promise<{
        rows: unknown[];
    }>;
    query(submittable: Submittable): Submittable;
    end(): Promise<void>;
    on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
    on(event: 'notification', listener: (message: {
        readonly channel: string;
        readonly payload?: string;
    }) => void): unknown;
    getTypeParser(typeId: number, format: 'text'): (text: string) => unknown;
    readonly connection: PgConnection;
    readonly processID: number | null;
}
/** Describes what is wrong with a value of the option `client`, without a call of it; undefined if nothing is. */
export declare function clientFlaw(client: unknown): string | undefined;
/** Creates the user's clients, one for each connection. Throws an OptionError if the option `client` returns another value. */
export declare class ClientFactory {
    #private;
    constructor(make: () => PgClient | Promise<PgClient>);
    next(): Promise<NodePostgresClient>;
    /**
     * Throws if the option returns the same client twice: otherwise a list would succeed and the watch after it could not begin.
     * The check happens once, and creates the client of the next connection.
     */
    assertNewClients(): Promise<void>;
}
