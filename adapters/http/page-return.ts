/**
 * Calls `listener` when a browser shows its page again, or has a network again. A connection may have been lost
 * meanwhile without a sign. Returns a function that removes the listener. Elsewhere than in a browser nothing happens.
 */
export function onPageReturn(listener: (isOnline: boolean) => void): () => void {
  const { document, addEventListener } = globalThis as Partial<Pick<typeof globalThis, 'document' | 'addEventListener'>>
  if (typeof addEventListener !== 'function') return () => {}
  const removing = new AbortController()
  const { signal } = removing
  const returned = (): void => {
    if (document?.visibilityState !== 'hidden') listener(false)
  }
  globalThis.addEventListener('online', () => listener(true), { signal })
  globalThis.addEventListener('pageshow', returned, { signal })
  document?.addEventListener('visibilitychange', returned, { signal })
  return () => removing.abort()
}
