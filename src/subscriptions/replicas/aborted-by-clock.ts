/**
 * Makes a signal call `check` whenever its state is read. `check` aborts it if the time is over: after a pause of the
 * process, code reads the signal before any timer fires.
 */
export function abortedByClock(signal: AbortSignal, check: () => void): AbortSignal {
  const { get } = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted') ?? {}
  const isAborted = (): boolean => get?.call(signal) === true
  Object.defineProperty(signal, 'aborted', {
    configurable: true,
    get: () => {
      if (!isAborted()) check()
      return isAborted()
    },
  })
  Object.defineProperty(signal, 'throwIfAborted', {
    configurable: true,
    value: () => {
      if (signal.aborted) throw signal.reason
    },
  })
  return signal
}
