import type { IncomingMessage } from 'node:http'

/** So much is taken in before somebody asks for it, in bytes. */
const HIGH_WATER = 512 * 1024

/** The bytes of an answer as they come, all that have come at once. Stops reading while nobody takes them. */
export class Body {
  readonly #response: IncomingMessage
  #chunks: Buffer[] = []
  #bytes = 0
  #isOver = false
  #error: unknown
  #wake: (() => void) | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
      if (this.#bytes >= HIGH_WATER) response.pause()
      this.#wake?.()
    })
    response.once('end', () => this.#end(undefined))
    response.on('error', (error) => this.#end(error))
    // Without an end before: it broke off.
    response.once('close', () => this.#end(new Error('the connection was closed in the middle of the answer')))
  }

  /** Whether there is something to take without waiting. */
  get isReady(): boolean {
    return this.#chunks.length > 0 || this.#isOver
  }

  /** Whether nothing more comes, though something may be left to take. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** What has come; waits where nothing has. Undefined at the end; rejects where the answer broke off. One at a time. */
  async take(): Promise<readonly Buffer[] | undefined> {
    if (this.#chunks.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (this.#chunks.length > 0 || !this.#isOver) {
      const taken = this.#chunks
      this.#chunks = []
      if (this.#bytes >= HIGH_WATER) this.#response.resume()
      this.#bytes = 0
      return taken
    }
    if (this.#error !== undefined) throw this.#error
    return undefined
  }

  /** Whoever waits gets nothing, at once, and may go on waiting. */
  poke(): void {
    this.#wake?.()
  }

  /** Breaks the answer off: whoever waits is told, and nothing more comes. */
  destroy(reason: unknown): void {
    this.#chunks = []
    this.#end(reason)
    this.#response.destroy()
  }

  #end(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    this.#wake?.()
  }
}
