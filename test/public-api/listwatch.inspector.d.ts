import type { Informer } from 'listwatch'
export interface Inspector extends AsyncDisposable {
  close(): Promise<void>
  readonly origin: string; readonly token: string; readonly url: string
}
export interface InspectorOptions {} // docs/reference/options.md
export declare function serveInspector(informers: Iterable<Informer<unknown, object>>,
    options?: InspectorOptions): Promise<Inspector>
