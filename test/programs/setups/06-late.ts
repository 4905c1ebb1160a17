// Program 06 assumes a source. It lists when the test says so.
import { memorySource } from 'listwatch/memory'

const source = memorySource<{ readonly id: string }>({ entries: [['1', { id: '1' }]] })
const { promise: may, resolve: go } = Promise.withResolvers<void>()
process.on('message', () => go())

Object.assign(globalThis, {
  source: {
    ...source,
    name: source.name,
    async *list(context: Parameters<typeof source.list>[0]) {
      await may
      yield* source.list(context)
    },
    watch: source.watch.bind(source),
  },
})
