import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The used heap after a garbage collection, in megabytes with one decimal. */
export function heapMb(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  collect()
  return Math.round((process.memoryUsage().heapUsed / 1024 ** 2) * 10) / 10
}
