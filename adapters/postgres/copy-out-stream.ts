import type { PgConnection, Submittable } from './client-factory.js'

const NEWLINE = 0x0a

/**
 * Reads `COPY … TO STDOUT` as pages of lines, on a client of pg. It keeps at most a few pages in memory: further lines
 * wait in the socket, and then at the server.
 */
export class CopyOut implements Submittable {
  readonly #text: string
  readonly #pageSize: number
  #connection: PgConnection | undefined
  #lines: string[] = []
  #carry = ''
  #isPaused = false
  #isDone = false
  #error: unknown
  #wake: () => void = () => {}
  readonly callback = (): void => {}

  constructor(text: string, pageSize: number) {
    this.#text = text
    this.#pageSize = pageSize
  }

  /** Returns the next lines, at least one; undefined at the end. Rejects with the server's error. */
  async next(): Promise<readonly string[] | undefined> {
    while (this.#lines.length < this.#pageSize && !this.#isDone) {
      this.#setFlowing(true)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#error !== undefined) throw this.#error
    if (this.#lines.length === 0) return undefined
    const page = this.#lines.length <= this.#pageSize ? this.#lines : this.#lines.slice(0, this.#pageSize)
    this.#lines = page === this.#lines ? [] : this.#lines.slice(this.#pageSize)
    return page
  }

  submit(connection: PgConnection): void {
    this.#connection = connection
    connection.query(this.#text)
  }

  /** Reads the chunk at once, because it is a view of the driver's buffer. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (chunk.at(-1) === NEWLINE && this.#carry === '' && chunk.indexOf(NEWLINE) === chunk.length - 1) {
      this.#lines.push(chunk.toString('utf8', 0, chunk.length - 1))
    } else {
      // The server sends one line in a message, but the protocol does not promise it.
      const lines = (this.#carry + chunk.toString('utf8')).split('\n')
      this.#carry = lines.pop() ?? ''
      this.#lines.push(...lines)
    }
    if (this.#lines.length >= this.#pageSize) this.#wake()
    if (this.#lines.length >= 4 * this.#pageSize) this.#setFlowing(false)
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
