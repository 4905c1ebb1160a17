import type { Informer } from 'listwatch'
export interface Inspector extends AsyncDisposable {
  readonly origin: string; readonly token: string; readonly url: string
  close(): Promise<void>
}
export interface InspectorOptions {} // docs/reference/options.md
export declare function serveInspector(informers: Iterable<Informer<unknown, object>>,
    options?: InspectorOptions): Promise<Inspector>
