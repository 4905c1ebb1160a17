import type { Informer } from 'listwatch'
export interface Inspector extends AsyncDisposable {
  close(): Promise<void>
  readonly origin: string
  readonly token: string
  readonly url: string
}
export interface InspectorOptions {
  readonly host?: string | undefined
  readonly hosts?: readonly string[] | undefined
  readonly port?: number | undefined
  readonly showSecrets?: boolean | undefined
  readonly token?: string | undefined
}
export declare function serveInspector(
  informers: Iterable<Informer<unknown, object>>,
  options?: InspectorOptions,
): Promise<Inspector>
