import type { ListerWatcher, ListPage } from '../../src/contract/source.js'
import { thousands, withoutControls } from './status-view.js'
import { sleepUnlessAborted } from './terminal-ui.js'
import { fitted } from './text-width.js'

const FRAME_MS = 250

/** On a terminal: one line on stderr with the step of a command, and how much it has read. It is erased at the end. */
export class ProgressLine implements Disposable {
  #step: string
  #objects: number | undefined
  readonly #isShown: boolean
  readonly #ended = new AbortController()

  /** Nothing is drawn if `isWanted` is false, or if stderr is not a terminal. */
  constructor(step: string, isWanted = true) {
    this.#step = step
    this.#isShown = isWanted && process.stderr.isTTY
    if (this.#isShown) void this.#show()
  }

  begin(step: string): void {
    this.#draw() // The final number.
    this.#step = step
    this.#objects = undefined
    this.#draw()
  }

  /** Returns the same source. The objects of its lists are counted. */
  counted<S>(source: ListerWatcher<S>): ListerWatcher<S> {
    if (!this.#isShown) return source
    const list: ListerWatcher<S>['list'] = (context) => this.#count(source.list(context))
    return new Proxy<ListerWatcher<S>>(Object.create(null), {
      has: (_, name) => name in source,
      get(_, name) {
        if (name === 'list') return list
        const member: unknown = Reflect.get(source, name)
        return typeof member === 'function' ? member.bind(source) : member
      },
    })
  }

  [Symbol.dispose](): void {
    if (!this.#isShown || this.#ended.signal.aborted) return
    this.#ended.abort()
    process.stderr.write('\r\x1b[2K')
  }

  async *#count<S>(pages: AsyncIterable<ListPage<S>>): AsyncGenerator<ListPage<S>> {
    this.#objects = 0
    for await (const page of pages) {
      this.#objects += page.events.length
      yield page
    }
  }

  #draw(): void {
    if (!this.#isShown || this.#ended.signal.aborted) return
    const count = this.#objects === undefined ? '' : `: ${thousands(this.#objects)} objects`
    // The cursor stays at the beginning, so that an error replaces the line.
    const line = fitted(withoutControls(`${this.#step}${count}`), (process.stderr.columns || 80) - 1)
    process.stderr.write(`\r\x1b[2K${line}\r`)
  }

  async #show(): Promise<void> {
    do this.#draw()
    while (await sleepUnlessAborted(FRAME_MS, this.#ended.signal))
  }
}
