import { type CommitSignal, commitSignalOf } from '../../src/informer/commit-signal.js'

/**
 * Returns the signal of an informer, or of the informer that has an index.
 *
 * @throws TypeError if `owner` is neither.
 */
export function signalOf(call: string, owner: object): CommitSignal {
  const signal = typeof owner === 'object' || typeof owner === 'function' ? commitSignalOf(owner) : undefined
  if (signal === undefined)
    throw new TypeError(
      `${call}: the first argument must be an informer that createInformer returned, or an index of one`,
    )
  return signal
}
