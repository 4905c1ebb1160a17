/** Calls `listener` once when the signal aborts. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** The result of `work`. Rejects as soon as the signal aborts, even if the work ignores it. */
export async function unlessAborted<V>(signal: AbortSignal, work: () => V | Promise<V>): Promise<V> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const unlink = onAbort(signal, () => aborted.reject(signal.reason))
  try {
    return await Promise.race([work(), aborted.promise])
  } finally {
    unlink()
  }
}
