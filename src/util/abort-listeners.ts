const listeners = new WeakMap<AbortSignal, { readonly all: Set<() => void>; readonly call: () => void }>()

/**
 * Returns a function that removes the listener. A signal compares each new listener with all that it has: thousands of
 * informers of one signal would spend most of their start there. So a signal has one listener of its own.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {}
  const known = listeners.get(signal) ?? added(signal)
  known.all.add(listener)
  return () => {
    known.all.delete(listener)
    if (known.all.size > 0 || listeners.get(signal) !== known) return
    listeners.delete(signal)
    signal.removeEventListener('abort', known.call)
  }
}

function added(signal: AbortSignal) {
  const all = new Set<() => void>()
  const call = (): void => {
    listeners.delete(signal)
    for (const each of all) each()
  }
  const known = { all, call }
  listeners.set(signal, known)
  signal.addEventListener('abort', call, { once: true })
  return known
}

/** The result of `work`. Rejects as soon as the signal aborts, even if the work ignores it. */
export async function unlessAborted<V>(signal: AbortSignal | undefined, work: () => V | Promise<V>): Promise<V> {
  signal?.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const unlink = onAbort(signal, () => aborted.reject(signal?.reason))
  try {
    return await Promise.race([work(), aborted.promise])
  } finally {
    unlink()
  }
}
