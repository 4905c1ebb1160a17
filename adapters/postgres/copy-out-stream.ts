import type { PgConnection, Submittable } from './client-factory.js'

const NEWLINE = 0x0a

/**
 * Converts a line without its end, and never throws. If `bytes` is present, each character of the line is the byte of
 * `bytes` at the same position.
 */
export type ReadLine<R> = (line: string, bytes?: Buffer) => R

/**
 * Reads `COPY … TO STDOUT` as pages of rows, on a client of pg. It keeps at most a few pages in memory: further lines
 * wait in the socket, and then at the server.
 */
export class CopyOut<R> implements Submittable {
  readonly #text: string
  readonly #pageSize: number
  readonly #readLine: ReadLine<R>
  #connection: PgConnection | undefined
  #rows: R[] = []
  #carry = ''
  #isPaused = false
  #isDone = false
  #error: unknown
  #wake: () => void = () => {}
  readonly callback = (): void => {}

  constructor(text: string, pageSize: number, readLine: ReadLine<R>) {
    this.#text = text
    this.#pageSize = pageSize
    this.#readLine = readLine
  }

  /** Returns the next rows, at least one; undefined at the end. Rejects with the server's error. */
  async next(): Promise<readonly R[] | undefined> {
    while (this.#rows.length < this.#pageSize && !this.#isDone) {
      this.#setFlowing(true)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#error !== undefined) throw this.#error
    if (this.#rows.length === 0) return undefined
    const page = this.#rows.length <= this.#pageSize ? this.#rows : this.#rows.slice(0, this.#pageSize)
    this.#rows = page === this.#rows ? [] : this.#rows.slice(this.#pageSize)
    return page
  }

  submit(connection: PgConnection): void {
    this.#connection = connection
    connection.query(this.#text)
  }

  /** Reads the chunk at once, because it is a view of the driver's buffer. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const length = chunk.length - 1
    const line = this.#carry === '' && chunk[length] === NEWLINE ? chunk.toString('utf8', 0, length) : undefined
    if (line !== undefined && !line.includes('\n')) {
      this.#rows.push(this.#readLine(line, line.length === length ? chunk : undefined))
    } else {
      // The server sends one line in a message, but the protocol does not promise it.
      const lines = (this.#carry + chunk.toString('utf8')).split('\n')
      this.#carry = lines.pop() ?? ''
      for (const each of lines) this.#rows.push(this.#readLine(each))
    }
    if (this.#rows.length >= this.#pageSize) this.#wake()
    if (this.#rows.length >= 4 * this.#pageSize) this.#setFlowing(false)
  }

  handleError(error: unknown): void {
    this.#error ??= error ?? new Error('the connection was closed')
    this.#finish()
  }

  handleReadyForQuery(): void {
    this.#finish()
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}

  #finish(): void {
    this.#isDone = true
    this.#setFlowing(true)
    this.#wake()
  }

  #setFlowing(isOpen: boolean): void {
    if (this.#isPaused !== isOpen) return
    this.#isPaused = !isOpen
    if (isOpen) this.#connection?.stream.resume()
    else this.#connection?.stream.pause()
  }
}
