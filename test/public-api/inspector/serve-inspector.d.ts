import type { Informer } from '../src/informer/informer-types.js';
/**
 * The options of `serveInspector`.
 *
 * @example
 * ```ts
 * import { serveInspector } from 'listwatch/inspector'
 *
 * const token = process.env['INSPECTOR_TOKEN'] // At least 16 characters. Default: a random one.
 * await serveInspector([orders, pods], { host: '0.0.0.0', port: 7_070, token }) // Default: a free port of 127.0.0.1.
 * ```
 */
export interface InspectorOptions {
    /** The TCP port. Default 0: a free one. */
    readonly port?: number | undefined;
    /** The address to listen at. Default `127.0.0.1`: only programs of this machine can connect. */
    readonly host?: string | undefined;
    /** The token that requests must have. Default: a random one for each start. At least 16 characters. */
    readonly token?: string | undefined;
    /** Whether the values of Kubernetes Secrets are shown. Default false. */
    readonly showSecrets?: boolean | undefined;
}
/**
 * A running inspector.
 *
 * @example
 * ```ts
 * import { serveInspector } from 'listwatch/inspector'
 *
 * await using inspector = await serveInspector([orders])
 * const headers = { authorization: `Bearer ${inspector.token}` }
 * const response = await fetch(`${inspector.origin}/api/informers`, { headers })
 * console.log(await response.json())
 * ```
 */
export interface Inspector extends AsyncDisposable {
    /** The address of the page. It contains the token. */
    readonly url: string;
    /** The address without the token, for programs that send it as `Authorization: Bearer`. */
    readonly origin: string;
    /** The token of this start. */
    readonly token: string;
    /** Closes the server and its connections. The informers continue. */
    close(): Promise<void>;
}
/**
 * Serves a page that shows informers: objects, changes, state, subscriptions and controllers. It is read-only. It works
 * during the first list. The option `name` of `createInformer` is what the page calls an informer.
 *
 * @returns The inspector, which listens at its `url`.
 * @throws OptionError for a wrong option.
 * @throws TypeError if a member is not an informer that `createInformer` returned.
 * @throws SourceError STOPPED if an informer was stopped.
 * @throws Error if the port is in use.
 *
 * @example
 * ```ts
 * import { serveInspector } from 'listwatch/inspector'
 *
 * const inspector = await serveInspector([orders, pods])
 * console.log(inspector.url)
 * ```
 */
export declare function serveInspector(informers: Iterable<Informer<unknown, object>>, options?: InspectorOptions): Promise<Inspector>;
