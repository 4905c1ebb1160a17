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
/** Returns `schema` and `transform` as one function. Undefined if there is neither. */
export declare function preparing<P, T>({ schema, transform, }: {
    readonly schema?: StandardSchema<P>;
    readonly transform?: (object: P, key: string) => T | undefined;
}): ((object: unknown, key: string) => T | undefined) | undefined;
