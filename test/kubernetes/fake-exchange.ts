import type { IncomingMessage, ServerResponse } from 'node:http'

export interface FakeStatus {
  readonly code: number
  readonly reason?: string
  readonly message?: string
  readonly causes?: readonly { readonly reason?: string; readonly message?: string }[]
  readonly retryAfterSeconds?: number
}

/** One question of a client, and the answer to it, byte by byte as a test wants. */
export class Exchange {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly token: string | undefined
  readonly accept: string
  readonly #answer: ServerResponse
  #isOpen = true

  constructor(question: IncomingMessage, answer: ServerResponse) {
    const url = new URL(question.url ?? '/', 'http://fake')
    this.method = question.method ?? ''
    this.path = url.pathname
    this.query = url.searchParams
    this.accept = question.headers.accept ?? ''
    this.token = /^Bearer (.*)$/.exec(question.headers.authorization ?? '')?.[1]
    this.#answer = answer
    answer.on('error', () => {})
    answer.on('close', () => (this.#isOpen = false))
  }

  get isWatch(): boolean {
    return ['true', '1'].includes(this.query.get('watch') ?? '')
  }

  /** A watch that is to begin with what there is. */
  get isStreamedList(): boolean {
    return this.isWatch && this.query.get('sendInitialEvents') === 'true'
  }

  /** A list whose objects are wanted, and not only how far the server is. */
  get isList(): boolean {
    return this.path.endsWith('/configmaps') && !this.isWatch && this.query.get('limit') !== '1'
  }

  /** Neither answered in full nor given up by the client. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  get isMetadata(): boolean {
    return this.accept.includes('as=PartialObjectMetadata')
  }

  json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
    this.text(JSON.stringify(value), status, { 'content-type': 'application/json', ...headers })
  }

  text(body: string, status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.#answer.writeHead(status, headers)
    this.#answer.end(body)
  }

  refuse(status: FakeStatus, headers: Readonly<Record<string, string>> = {}): void {
    this.json(statusObject(status), status.code, headers)
  }

  /** What may come before an answer. */
  provisional(): void {
    this.#answer.writeProcessing()
    this.#answer.writeEarlyHints({ link: '</a>; rel=preload' })
  }

  /** Begins a response of unknown length. */
  open(headers: Readonly<Record<string, string>> = {}): void {
    if (this.#answer.headersSent) return
    this.#answer.writeHead(200, { 'content-type': 'application/json', ...headers })
    this.#answer.flushHeaders()
  }

  /** Bytes as they are; resolves when the client's system has taken them. */
  write(bytes: string | Buffer): Promise<void> {
    this.open()
    return new Promise((resolve) => this.#answer.write(bytes, () => resolve()))
  }

  /** Sends bytes in pieces of at most this size, each in its own packet; then the end, if requested. */
  async pieces(text: string, size: number, { isOpen = false } = {}): Promise<void> {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length && this.isOpen; at += size) await this.write(bytes.subarray(at, at + size))
    if (!isOpen) this.end()
  }

  /** One event on a line of its own. */
  async event(type: string, object: unknown): Promise<void> {
    await this.write(`${JSON.stringify({ type, object })}\n`)
  }

  async bookmark(version: string, isEndOfList = false): Promise<void> {
    const annotations = isEndOfList ? { 'k8s.io/initial-events-end': 'true' } : {}
    const metadata = { resourceVersion: version, creationTimestamp: null, annotations }
    await this.event('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata })
  }

  /** A failure within a stream. */
  async error(status: FakeStatus): Promise<void> {
    await this.event('ERROR', statusObject(status))
  }

  end(): void {
    this.#answer.end()
  }

  /** Sends raw bytes over the connection, including headers and lengths; then the end, if requested. */
  raw(bytes: string, { isOver = false } = {}): void {
    const { socket } = this.#answer
    if (isOver) socket?.end(bytes)
    else socket?.write(bytes)
  }

  reset(): void {
    this.#answer.socket?.resetAndDestroy()
  }
}

export function statusObject({ code, reason, message, causes, retryAfterSeconds }: FakeStatus): unknown {
  const details =
    causes === undefined && retryAfterSeconds === undefined ? {} : { details: { causes, retryAfterSeconds } }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code, ...details }
}

/** The requested version has expired. */
export const EXPIRED: FakeStatus = { code: 410, reason: 'Expired', message: 'too old resource version: 1 (2)' }
/** The status of a server that has not reached the requested version. */
export const TOO_LARGE: FakeStatus = {
  code: 504,
  reason: 'Timeout',
  message: 'Too large resource version: 2000, current: 1000',
  causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  retryAfterSeconds: 1,
}
