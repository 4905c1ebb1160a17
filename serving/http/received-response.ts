/** What a source reads of a `Response`. Node's own one loads its HTTP client, which takes 4 MB in each thread. */
export interface ReceivedResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: ReceivedBody | null
}

export interface ReceivedBody {
  getReader(): BodyReader
  cancel(): Promise<void>
}

export interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

export type SendRequest = (url: string, init: RequestInit) => Promise<ReceivedResponse>

/** Reads a body as text up to about `maxBytes`. `isWhole`: it ended before. */
export async function textOf(
  { body }: ReceivedResponse,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = 0; reader !== undefined && bytes <= maxBytes; ) {
      const { value, done } = await reader.read()
      if (done) return { text, isWhole: true }
      text += decoder.decode(value, { stream: true })
      bytes += value?.length ?? 0
    }
    return { text, isWhole: reader === undefined }
  } finally {
    void reader?.cancel().catch(() => {})
  }
}
