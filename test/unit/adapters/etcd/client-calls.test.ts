import { expect, test } from 'vitest'
import { etcd3Transport } from '../../../../adapters/etcd/transport/etcd3-transport.js'

type Intercept = (options: object, next: (options: object) => object) => object

test.each([
  ['unwanted', []],
  ['lost', [4]],
] as const)('a call of a shared client that is %s ends with these statuses: %j', async (reason, expected) => {
  const statuses: number[] = []
  const call = { start: () => {}, cancelWithStatus: (status: number) => void statuses.push(status) }
  const range = (_request: object, options?: object): Promise<object> => {
    const { interceptors = [] } = (options ?? {}) as { readonly interceptors?: readonly Intercept[] }
    for (const intercept of interceptors) intercept({}, () => call)
    return new Promise(() => {})
  }
  const none = (): Promise<object> => Promise.reject(new Error('none'))
  const client = { kv: { range, txn: none }, watchClient: { watch: none }, maintenance: { status: none } }
  const connection = await etcd3Transport(client).connect()
  connection.range({ key: Buffer.from('k'), limit: 1 }).cancel(reason)
  expect(statuses).toEqual(expected)
})
