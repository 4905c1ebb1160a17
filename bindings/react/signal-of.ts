import { type CommitSignal, internalsOf } from '../../src/informer/internals.js'

/** Returns the signal of an informer, or of that of an index. Throws a TypeError if `owner` is neither. */
export function signalOf(call: string, owner: object): CommitSignal {
  const signal = typeof owner === 'object' || typeof owner === 'function' ? internalsOf(owner)?.signal : undefined
  if (signal === undefined)
    throw new TypeError(
      `${call}: the first argument must be an informer that createInformer returned, or an index of one`,
    )
  return signal
}
