import type { Clock, SourceContext } from 'listwatch/adapter'
import type { Index, Informer, ListerWatcher, Version } from 'listwatch'
export interface CollectionsScope<M extends ServedInformers> extends Pick<RequestScope, 'signal'> {
  readonly where?: { readonly [C in keyof M]: M[C] extends Informer<infer _, infer I> ?
      NonNullable<MirrorScope<I>['where']> : never }
}
export interface HttpCollections { collection<T = unknown>(name: string): ListerWatcher<T> }
export interface HttpCollectionsOptions extends HttpSourceOptions {} // docs/reference/options.md
export interface HttpServing extends AsyncDisposable { (request: Request): Promise<Response>; close(): Promise<void> }
export interface HttpSource<T> extends ListerWatcher<T> {
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  isLaterEpoch(at: Version, mark: Version): boolean
}
export interface HttpSourceOptions {} // docs/reference/options.md
export interface MirrorScope<I = {}> {
  readonly where?: { readonly [K in keyof I]?: I[K] extends Index<unknown, infer V> ? V : never }
}
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly method?: string | undefined; readonly url?: string | undefined
}
export interface NodeResponse {
  readonly destroyed: boolean; readonly headersSent: boolean
  destroy(): unknown
  end(): unknown
  flushHeaders?(): void
  off(event: 'close' | 'drain', listener: () => void): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  write(chunk: Uint8Array): boolean
  writeHead(status: number, headers: Record<string, string | string[]>): unknown
}
export type RequestHeaders = Headers | Readonly<Record<string, string>>
export interface RequestScope<I = {}> extends MirrorScope<I> { readonly signal?: AbortSignal }
export interface ServeCollectionsOptions<M extends ServedInformers> extends Omit<ServeHttpOptions, 'scope'> {} // docs/reference/options.md
export interface ServeHttpOptions<I = {}> {} // docs/reference/options.md
export type ServedInformers = Readonly<Record<string, Informer<unknown, object>>>
export interface UpstreamVersions {
  hasReached(at: Version, mark: Version): boolean
  isLaterEpoch?(at: Version, mark: Version): boolean
}
export declare function httpCollections(options: HttpCollectionsOptions): HttpCollections
export declare function httpSource<T>(options: HttpSourceOptions): HttpSource<T>
export declare function httpStatus(error: unknown): number
export declare function nodeListener(handler: (request: Request) => Promise<Response>): (request: NodeRequest,
    response: NodeResponse) => void
export declare function serveHttp<T, I extends object>(informer: Informer<T, I>,
    options?: ServeHttpOptions<I>): HttpServing
export declare function serveHttp<M extends ServedInformers>(informers: M,
    options?: ServeCollectionsOptions<M>): HttpServing
