import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a finalizer releases is collected in the next round. */
const ROUNDS = 4

let collect: (() => void) | undefined

/** Collects garbage, step by step. Returns whether all objects were collected. */
export function* areCollected(objects: readonly WeakRef<object>[]): Generator<undefined, boolean> {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  for (let round = 0; round < ROUNDS; round++) {
    // An object that this job has read from its reference is alive until the job ends.
    yield
    collect()
    if (objects.every((each) => each.deref() === undefined)) return true
  }
  return false
}
