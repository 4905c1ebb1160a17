import { type NatsKvOptions, type NatsKvSource } from './nats-options.js';
/**
 * Returns a source for a key-value bucket of NATS JetStream. It uses the connection of the program, and never closes
 * it.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * const source = natsKvSource<Limit>({ connection, bucket: 'limits' })
 * const limits = createInformer({ source })
 * ```
 */
export declare function natsKvSource<T = unknown>(options: NatsKvOptions<T>): NatsKvSource<T>;
/** How a bucket is read. */
export interface BucketForm {
    /** The key of what follows the prefix of a subject. */
    decodeKey(name: string): string;
    /** Whether every list and batch must be a state that the bucket had, however long that takes. */
    readonly isExact: boolean;
}
/** The same as `natsKvSource` with checked options, for a bucket of another form. */
export declare function bucketSource<T>(options: NatsKvOptions<T>, form: BucketForm): NatsKvSource<T>;
