import type { Document } from 'happy-dom'
import { act, type ReactElement } from 'react'
import { createRoot, hydrateRoot, type Root } from 'react-dom/client'

Reflect.set(globalThis, 'IS_REACT_ACT_ENVIRONMENT', true)

/** A page with one root. Dispose of it when done. */
export class Page implements AsyncDisposable {
  readonly #container = (Reflect.get(globalThis, 'document') as Document).createElement('main')
  #root: Root | undefined

  /** A page that shows an element. */
  static async with(element: ReactElement): Promise<Page> {
    const page = new Page()
    await page.show(element)
    return page
  }

  get text(): string {
    return this.#container.textContent
  }

  async show(element: ReactElement): Promise<void> {
    await act(async () => {
      this.#root ??= createRoot(this.#container)
      this.#root.render(element)
    })
  }

  /** Shows what a server has rendered, and takes it over. Errors are those that React recovers from. */
  async hydrate(html: string, element: ReactElement, errors: unknown[]): Promise<void> {
    this.#container.innerHTML = html
    await act(async () => {
      this.#root = hydrateRoot(this.#container, element, { onRecoverableError: (error) => errors.push(error) })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await act(async () => this.#root?.unmount())
  }
}
