import { systemClock } from '../../src/contract/clock.js'
import type { ListerWatcher, ListPage } from '../../src/contract/source.js'
import { thousands, withoutControls } from './status-view.js'
import { sleepUnlessAborted } from './terminal-ui.js'
import { fitted } from './text-width.js'

/** How often the line is drawn, in milliseconds. */
const FRAME_MS = 250

/**
 * On a terminal: one line with the step of a command and the number of objects that it has read. It is erased at the
 * end.
 */
export class ListProgress implements Disposable {
  readonly #isShown = process.stderr.isTTY
  readonly #ended = new AbortController()
  #step: string
  #objects: number | undefined

  constructor(step: string) {
    this.#step = step
    if (this.#isShown) void this.#show()
  }

  /** The next step has begun. */
  begin(step: string): void {
    if (this.#isShown) this.#draw() // The final number.
    this.#step = step
    this.#objects = undefined
    if (this.#isShown) this.#draw()
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

  async #show(): Promise<void> {
    do this.#draw()
    while (await sleepUnlessAborted(FRAME_MS, systemClock, this.#ended.signal))
  }

  #draw(): void {
    const count = this.#objects === undefined ? '' : `: ${thousands(this.#objects)} objects`
    // The cursor stays at the beginning, so that an error replaces the line.
    const line = fitted(withoutControls(`${this.#step}${count}`), (process.stderr.columns || 80) - 1)
    process.stderr.write(`\r\x1b[2K${line}\r`)
  }
}
