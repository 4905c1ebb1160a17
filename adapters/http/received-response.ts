/**
 * The parts of a `Response` that a source reads. A `Response` of Node loads its HTTP client, which takes 4 MB in each
 * thread.
 */
export interface ReceivedResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: ReceivedBody | null
  json(): Promise<unknown>
  /** Only a response of `fetch` has it. */
  text?(): Promise<string>
}

/** The parts of a `ReadableStream` that a source reads. */
export interface ReceivedBody {
  getReader(): BodyReader
  /** Ends a body that has no reader. */
  cancel(): Promise<void>
}

/** Reads a body in order. */
export interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** Sends a request, as the global `fetch` does. */
export type SendRequest = (url: string, init: RequestInit) => Promise<ReceivedResponse>
