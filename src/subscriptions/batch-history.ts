const histories = new WeakMap<object, number>()

/**
 * Remembers the history of the source in which the version of a batch is a version. Returns the batch. Only batches of
 * streams have one, because only these are handed out: an entry of a WeakMap costs as much as the delivery of a change.
 */
export function withHistory<B extends object>(batch: B, history: number | undefined): B {
  if (history !== undefined) histories.set(batch, history)
  return batch
}

/**
 * The number of the history of a batch of `changes`. It differs after `EPOCH_CHANGED`. Undefined if it was not named.
 */
export function historyOf(batch: object): number | undefined {
  return histories.get(batch)
}
