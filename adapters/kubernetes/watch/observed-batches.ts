/** Yields the same batches. Each is passed to `observe` before, which may throw. */
export async function* observedBatches<B, R>(
  batches: AsyncGenerator<B, R>,
  observe: (batch: B) => void,
): AsyncGenerator<B, R> {
  try {
    for (;;) {
      const { done, value } = await batches.next()
      if (done === true) return value
      observe(value)
      yield value
    }
  } finally {
    await batches.return(undefined as R) // Nothing happens if it has ended.
  }
}
