// Program 03 assumes orders of two tenants, and a server that runs its application.
import express from 'express'
import { memorySource } from 'listwatch/memory'

interface Order {
  readonly id: string
  readonly tenant: string
}

const source = memorySource<Order>({
  entries: [
    ['1', { id: '1', tenant: 'acme' }],
    ['2', { id: '2', tenant: 'other' }],
  ],
})
Object.assign(globalThis, { source })

const { get } = express.application
express.application.get = function (this: express.Application, ...args: Parameters<typeof get>) {
  if (args.length > 1) setImmediate(() => this.listen(3_000))
  return get.apply(this, args)
} as typeof get

process.on('message', ({ put, gone }: { readonly put?: Order; readonly gone?: string }) => {
  if (put !== undefined) source.put(put.id, put)
  if (gone !== undefined) source.delete(gone)
})
