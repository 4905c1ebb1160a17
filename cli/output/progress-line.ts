import { systemClock } from '../../src/contract/clock.js'
import { withoutControls } from './status-view.js'
import { sleepUnlessAborted } from './terminal-ui.js'
import { fitted } from './text-width.js'

/** How often the line is drawn, in milliseconds. */
const FRAME_MS = 250

/** On a terminal: one line on stderr that shows what a command does. It is erased at the end. */
export class ProgressLine implements Disposable {
  readonly isShown: boolean
  readonly #text: () => string
  readonly #ended = new AbortController()

  /** `text` is called for each drawing. Nothing is drawn if `isWanted` is false, or if stderr is not a terminal. */
  constructor(text: () => string, isWanted = true) {
    this.#text = text
    this.isShown = isWanted && process.stderr.isTTY
    if (this.isShown) void this.#show()
  }

  /** Draws the line now. */
  draw(): void {
    if (!this.isShown || this.#ended.signal.aborted) return
    // The cursor stays at the beginning, so that an error replaces the line.
    const line = fitted(withoutControls(this.#text()), (process.stderr.columns || 80) - 1)
    process.stderr.write(`\r\x1b[2K${line}\r`)
  }

  [Symbol.dispose](): void {
    if (!this.isShown || this.#ended.signal.aborted) return
    this.#ended.abort()
    process.stderr.write('\r\x1b[2K')
  }

  async #show(): Promise<void> {
    do this.draw()
    while (await sleepUnlessAborted(FRAME_MS, systemClock, this.#ended.signal))
  }
}
