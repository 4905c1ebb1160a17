/** A schema of any library that implements Standard Schema 1 (standardschema.dev): zod, valibot, arktype and others. */
export interface StandardSchema<Output> {
    readonly '~standard': {
        readonly version: 1;
        readonly vendor: string;
        readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
        readonly types?: {
            readonly input: unknown;
            readonly output: Output;
        } | undefined;
    };
}
export type SchemaResult<Output> = {
    readonly value: Output;
    readonly issues?: undefined;
} | {
    readonly issues: readonly SchemaIssue[];
};
export interface SchemaIssue {
    readonly message: string;
    readonly path?: readonly (PropertyKey | {
        readonly key: PropertyKey;
    })[] | undefined;
}
/** What is wrong with a schema as an option, or undefined where nothing is. */
export declare function flawInSchema(schema: unknown): string | undefined;
/** The schema as a function that throws for what it refuses, naming each place. */
export declare function parserOf<Output>(schema: StandardSchema<Output>): (value: unknown) => Output;
/** Refuses a promise: the store is written in one step, which nothing may wait in. */
export declare function assertSynchronous<R>(result: R | PromiseLike<R>, what: string): asserts result is R;
