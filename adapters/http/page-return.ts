/** The parts of the global object of a browser that are used. */
interface BrowserGlobal {
  readonly document?: EventTarget & { readonly visibilityState: string }
  readonly addEventListener?: EventTarget['addEventListener']
}

/**
 * Calls `listener` when a browser shows its page again, or has a network again. A connection may have been lost
 * meanwhile without a sign. Returns a function that removes the listener. In Node nothing happens.
 */
export function onPageReturn(listener: (isOnline: boolean) => void): () => void {
  const browser: BrowserGlobal = globalThis as BrowserGlobal
  const { document } = browser
  const removing = new AbortController()
  const { signal } = removing
  const returned = (): void => {
    if (document?.visibilityState !== 'hidden') listener(false)
  }
  browser.addEventListener?.('online', () => listener(true), { signal })
  browser.addEventListener?.('pageshow', returned, { signal })
  document?.addEventListener('visibilitychange', returned, { signal })
  return () => removing.abort()
}
