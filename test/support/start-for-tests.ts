import { afterAll, beforeAll } from 'vitest'

/** Starts a server before the first test of a file or a group, and ends it after the last. Returns the running server. */
export function startForTests<S extends AsyncDisposable>(start: () => Promise<S>): () => S {
  let started: S | undefined
  beforeAll(async () => (started = await start()))
  afterAll(async () => {
    await started?.[Symbol.asyncDispose]()
  })
  return () => {
    if (started === undefined) throw new Error('the server is not up yet')
    return started
  }
}
