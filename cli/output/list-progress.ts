import type { ListerWatcher, ListPage } from '../../src/contract/source.js'
import { ProgressLine } from './progress-line.js'
import { thousands } from './status-view.js'

/**
 * On a terminal: one line with the step of a command and the number of objects that it has read. It is erased at the
 * end.
 */
export class ListProgress implements Disposable {
  #step: string
  #objects: number | undefined
  readonly #line: ProgressLine

  constructor(step: string) {
    this.#step = step
    this.#line = new ProgressLine(() => {
      const count = this.#objects === undefined ? '' : `: ${thousands(this.#objects)} objects`
      return `${this.#step}${count}`
    })
  }

  /** The next step has begun. */
  begin(step: string): void {
    this.#line.draw() // The final number.
    this.#step = step
    this.#objects = undefined
    this.#line.draw()
  }

  /** Returns the same source. The objects of its lists are counted. */
  counted<S>(source: ListerWatcher<S>): ListerWatcher<S> {
    if (!this.#line.isShown) return source
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
    this.#line[Symbol.dispose]()
  }

  async *#count<S>(pages: AsyncIterable<ListPage<S>>): AsyncGenerator<ListPage<S>> {
    this.#objects = 0
    for await (const page of pages) {
      this.#objects += page.events.length
      yield page
    }
  }
}
