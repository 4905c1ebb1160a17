// A process that saves again and again: node saver.ts <path> <first generation> <step>. It prints each saved generation.
import { fileCache } from '../../caches/file/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { generationOf } from './generation.js'

const [path = '', first = '0', step = '1'] = process.argv.slice(2)
const cache = fileCache({ path })
const { signal } = new AbortController()
const warn = (message: string): void => console.error(message)

for (let generation = Number(first); ; generation += Number(step)) {
  await cache.save(generationOf(generation), { signal, clock: systemClock, fingerprint: 'f', isSensitive: false, warn })
  console.log(generation)
}
