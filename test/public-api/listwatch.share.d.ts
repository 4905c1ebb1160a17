import type { Clock, SourceContext } from 'listwatch/adapter'
import type { Index, Informer, ListerWatcher, Version } from 'listwatch'
import type { MessagePort } from 'node:worker_threads'
export interface HttpSource<T> extends ListerWatcher<T> {
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  isLaterEpoch(at: Version, mark: Version): boolean
}
export interface MirrorScope<I = {}> {
  readonly where?: { readonly [K in keyof I]?: I[K] extends Index<unknown, infer V> ? V : never }
}
export interface ServeSharedOptions {
  readonly clock?: Clock
  readonly heartbeatMs?: number
  readonly historyBytes?: number
}
export interface SharedServing<I = {}> extends AsyncDisposable {
  close(): Promise<void>
  listen(path: string, scope?: MirrorScope<I>): Promise<void>
  port(scope?: MirrorScope<I>): MessagePort
}
export interface SharedSourceOptions {
  readonly heartbeatMs?: number
  readonly name?: string
  readonly path?: string
  readonly port?: MessagePort
  readonly upstream?: UpstreamVersions
}
export interface UpstreamVersions {
  hasReached(at: Version, mark: Version): boolean
  isLaterEpoch?(at: Version, mark: Version): boolean
}
export declare function serveShared<T, I extends object>(
  informer: Informer<T, I>,
  options?: ServeSharedOptions,
): SharedServing<I>
export declare function sharedSource<T>(options: SharedSourceOptions): HttpSource<T>
