/**
 * The part of `http.IncomingMessage` that is used.
 *
 * @example
 * ```ts
 * import { nodeListener, serveMirror } from 'listwatch/http'
 *
 * const listener = nodeListener(serveMirror(orders))
 * app.use('/mirror/orders', (request, response) => listener(request, response)) // A request of Express fits too.
 * ```
 */
export interface NodeRequest {
    /** The method. */
    readonly method?: string | undefined;
    /** The path and the query. */
    readonly url?: string | undefined;
    /** The headers, by lower-case name. */
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}
/**
 * The part of `http.ServerResponse` that is used.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { nodeListener, serveMirror } from 'listwatch/http'
 *
 * const listener = nodeListener(serveMirror(orders))
 * createServer((request, response) => {
 *   if (request.url?.startsWith('/mirror/orders/')) listener(request, response)
 *   else response.writeHead(404).end()
 * }).listen(8080)
 * ```
 */
export interface NodeResponse {
    /** Whether the connection was closed. */
    readonly destroyed: boolean;
    /** Whether `writeHead` was called. */
    readonly headersSent: boolean;
    /** Sends the status and the headers. */
    writeHead(status: number, headers: Record<string, string>): unknown;
    /** Sends the headers before the first chunk. */
    flushHeaders(): void;
    /** Sends a chunk. Returns false if the caller should wait for `drain`. */
    write(chunk: Uint8Array): boolean;
    /** Ends the response. */
    end(): unknown;
    /** Closes the connection. */
    destroy(): unknown;
    /** Adds a listener that is called once. */
    once(event: 'close' | 'drain', listener: () => void): unknown;
    /** Removes a listener. */
    off(event: 'close' | 'drain', listener: () => void): unknown;
}
/**
 * Returns a listener for `http.createServer` and Express, which passes requests to a handler of `Request` and
 * `Response`.
 *
 * @returns The listener. It answers each request with the response of the handler.
 * @throws OptionError if the handler is not a function.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { nodeListener, serveMirror } from 'listwatch/http'
 *
 * createServer(nodeListener(serveMirror(orders))).listen(8080)
 * ```
 */
export declare function nodeListener(handler: (request: Request) => Promise<Response>): (request: NodeRequest, response: NodeResponse) => void;
