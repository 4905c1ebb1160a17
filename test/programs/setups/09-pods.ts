// What program 09 takes for granted: pods, which change as the test says.
import { memorySource } from 'listwatch/memory'

interface Pod {
  readonly name: string
  readonly node: string | null
}

const source = memorySource<Pod>({ entries: [['a', { name: 'a', node: 'n1' }]] })
Object.assign(globalThis, { source })

process.on('message', ({ put, gone }: { readonly put?: Pod; readonly gone?: string }) => {
  if (put !== undefined) source.put(put.name, put)
  if (gone !== undefined) source.delete(gone)
})
