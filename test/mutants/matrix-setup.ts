// Runs before each file of tests of the matrix.
import { beforeEach } from 'vitest'

/** For each file of the product: true at the numbers of the functions that were called, at 0 for the file itself. */
export type Reached = Readonly<Record<string, readonly true[]>>

declare module 'vitest' {
  interface TaskMeta {
    reached?: Reached
  }
}

/** A test that calls more functions hangs. */
const MAX_STEPS = 100_000_000

const reached: Record<string, true[]> = {}
let left = MAX_STEPS

Reflect.set(globalThis, '__reach', (path: string) => {
  reached[path] ??= []
  const those = reached[path]
  return (number: number): void => {
    those[number] = true
    if (--left < 0) throw new Error('too many steps')
  }
})
beforeEach(({ task }) => {
  left = MAX_STEPS
  // It is sent when the file ends.
  task.file.meta.reached = reached
})
