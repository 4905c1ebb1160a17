import type { Clock } from 'listwatch/adapter'
import type { Informer } from 'listwatch'
import type { MessagePort } from 'node:worker_threads'
export { HttpSource, MirrorScope, UpstreamVersions } from 'listwatch/http'
export interface ServeSharedOptions {} // docs/reference/options.md
export interface SharedServing<I = {}> extends AsyncDisposable {
  close(): Promise<void>
  listen(path: string, scope?: MirrorScope<I>): Promise<void>
  port(scope?: MirrorScope<I>): MessagePort
}
export interface SharedSourceOptions {} // docs/reference/options.md
export declare function serveShared<T, I extends object>(informer: Informer<T, I>,
    options?: ServeSharedOptions): SharedServing<I>
export declare function sharedSource<T>(options: SharedSourceOptions): HttpSource<T>
