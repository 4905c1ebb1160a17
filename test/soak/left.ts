import { getEventListeners } from 'node:events'

/** How many there are of each kind: handles, and listeners of the process and of abort signals. */
export type Open = ReadonlyMap<string, number>

/** Signals that were made since `watchSignals` and are not collected yet, and others. */
let signals = new Set<WeakRef<AbortSignal>>()
let pruneAt = 10_000

/** From now on every signal that is made is known, so that its listeners can be counted. For the whole process. */
export function watchSignals(): void {
  globalThis.AbortController = class extends AbortController {
    constructor() {
      super()
      signals.add(new WeakRef(this.signal))
      if (signals.size > pruneAt) forgetCollected()
    }
  }
}

export function open(): Open {
  forgetCollected()
  const counts = new Map<string, number>()
  const add = (kind: string, count: number): void => {
    if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count)
  }
  for (const kind of process.getActiveResourcesInfo()) add(kind, 1)
  for (const name of process.eventNames())
    add(`listener of the process for ${String(name)}`, process.listenerCount(name))
  for (const signal of signals) add('listener of a signal', listeners(signal.deref()))
  return counts
}

export function more(before: Open, after: Open): readonly string[] {
  const left: string[] = []
  for (const [kind, count] of after) {
    const grown = count - (before.get(kind) ?? 0)
    if (grown > 0) left.push(`${grown} × ${kind}`)
  }
  return left
}

function listeners(signal: AbortSignal | undefined): number {
  return signal === undefined ? 0 : getEventListeners(signal, 'abort').length
}

/** Keeps no book of signals that are gone: it would count as growth. */
export function forgetCollected(): void {
  // A new set, not one that keeps the room it once needed.
  signals = new Set([...signals].filter((signal) => signal.deref() !== undefined))
  pruneAt = 2 * signals.size + 10_000
}
