/** What a source needs of a client, as types: `new pg.Client(…)` of pg 8 fits. It is made anew for each connection. */
export interface PgClient {
    connect(): Promise<unknown>;
    query(text: string, values?: unknown[]): Promise<{
        rows: unknown[];
    }>;
    end(): Promise<void>;
}
/** What a source needs of a transaction that is open in the writer. */
export interface PgTransaction {
    query(text: string): Promise<{
        rows: unknown[];
    }>;
}
/** One message of COPY's, or the end of a query; pg's own protocol of queries that bring their own reader. */
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
        /** Of a socket; a stream of another kind may not count. */
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
/** What a client of pg 8 has besides. */
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
/** The flaw of a value of the option `client`, as far as it shows without a call of it. */
export declare function clientFlaw(client: unknown): string | undefined;
/** The user's clients, one for each connection. An OptionError if the option `client` returns what cannot be one. */
export declare class ClientFactory {
    #private;
    constructor(make: () => PgClient | Promise<PgClient>);
    next(): Promise<NodePostgresClient>;
    /**
     * Throws if the option returns the same client twice. Makes the client of the next connection for that, once; a list would
     * succeed and the watch after it could not begin.
     */
    prove(): Promise<void>;
}
