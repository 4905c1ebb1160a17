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
/** The user's client as one of pg 8; a TypeError where it is none. */
export declare function asNodePostgres(client: unknown): NodePostgresClient;
