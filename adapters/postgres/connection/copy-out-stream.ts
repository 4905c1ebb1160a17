import type { PgConnection, Submittable } from './client-factory.js'
import { LineBuffer, type OnLine, type OnLongLine } from './line-buffer.js'

/** Keeps at most a few pages of a COPY in memory: further lines wait in the socket, and then at the server. */
export class CopyOut<R> implements Submittable {
  readonly #text: string
  readonly #pageSize: number
  readonly #lines: LineBuffer
  #connection: PgConnection | undefined
  #rows: R[] = []
  #isFlushDue = false
  #isPaused = false
  #isDone = false
  #error: unknown
  #wake: () => void = () => {}
  readonly callback = (): void => {}

  /** `readLine` and `readLong` convert a line, and never throw. */
  constructor(text: string, pageSize: number, readLine: OnLine<R>, readLong: OnLongLine<R>) {
    this.#text = text
    this.#pageSize = pageSize
    this.#lines = new LineBuffer(
      (line, bytes, at) => this.#rows.push(readLine(line, bytes, at)),
      (fields, length) => this.#rows.push(readLong(fields, length)),
    )
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

  /** Copies the chunk, because it is a view of the driver's buffer. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    this.#lines.push(chunk)
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    // Microtasks run after the driver has reported all lines that arrived.
    void Promise.resolve().then(() => this.#flush())
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

  #flush(): void {
    this.#isFlushDue = false
    this.#lines.flush()
    if (this.#rows.length >= this.#pageSize) this.#wake()
    if (this.#rows.length >= 4 * this.#pageSize && !this.#isDone) this.#setFlowing(false)
  }

  #finish(): void {
    this.#lines.flush()
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
