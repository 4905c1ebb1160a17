import { type PostgresSource, type PostgresSourceOptions } from './postgres-options.js';
/**
 * Returns a source that mirrors a table by the change log that `listwatch pg install` creates. It opens connections
 * only for lists, watches and `head`.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 *
 * const source = postgresSource<Order>({ client: () => new pg.Client(url), table: 'public.orders' })
 * const orders = createInformer({ source })
 * ```
 */
export declare function postgresSource<T = unknown>(options: PostgresSourceOptions): PostgresSource<T>;
