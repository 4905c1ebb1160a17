/** The listeners of each signal, and the one function that calls them. */
const listeners = new WeakMap<AbortSignal, { readonly all: Set<() => void>; readonly call: () => void }>()

/**
 * Calls `listener` when the signal aborts. A signal compares each new listener with all that it has: thousands of
 * informers of one signal would spend most of their start there. So all listeners of a signal are one of its own.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): void {
  if (signal === undefined) return
  const known = listeners.get(signal)
  if (known !== undefined) {
    known.all.add(listener)
    return
  }
  const all = new Set([listener])
  const call = (): void => {
    listeners.delete(signal)
    for (const each of all) each()
  }
  listeners.set(signal, { all, call })
  signal.addEventListener('abort', call, { once: true })
}

export function offAbort(signal: AbortSignal | undefined, listener: () => void): void {
  const known = signal && listeners.get(signal)
  if (signal === undefined || known === undefined) return
  known.all.delete(listener)
  if (known.all.size > 0) return
  listeners.delete(signal)
  signal.removeEventListener('abort', known.call)
}
