// Program 09 assumes pods, which change when the test says so.
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
