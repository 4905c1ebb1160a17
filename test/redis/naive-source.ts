import { Redis } from 'ioredis'
import { SourceError } from '../../src/contract/errors.js'
import type { ListContext, ListerWatcher, ListPage, WatchBatch, WatchContext } from '../../src/contract/source.js'
import { COLLECTION } from './followers.js'
import type { Item } from './mirror.js'

/**
 * A naive source on a driver that reconnects by itself: it reads the hash, then `XREAD BLOCK` from the newest entry. The
 * tests of our source must find its defects.
 */
export function naiveSource(port: number): ListerWatcher<Item> {
  const connect = (): Redis => {
    const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, commandTimeout: 1_000 })
    client.on('error', () => {})
    return client
  }
  return {
    name: 'newest',
    heartbeatMs: 1e9,
    hasReached: () => true,
    async *list(_: ListContext): AsyncIterable<ListPage<Item>> {
      const client = connect()
      try {
        const values = Object.entries(await client.hgetall(`{${COLLECTION}}:h`))
        yield { events: values.map(([key, value]) => put(key, value)), version: 'listed' }
      } finally {
        client.disconnect()
      }
    },
    async *watch({ signal }: WatchContext): AsyncIterable<WatchBatch<Item>> {
      const client = connect()
      const abort = (): void => client.disconnect()
      signal.addEventListener('abort', abort, { once: true })
      let after = '$'
      try {
        yield { events: [], version: 'watched' }
        for (;;) {
          const [[, entries] = ['', []]] =
            (await client.xread('BLOCK', 200, 'STREAMS', `{${COLLECTION}}:s`, after).catch(() => null)) ?? []
          if (signal.aborted) throw new SourceError('no longer wanted', { code: 'STOPPED' })
          after = entries.at(-1)?.[0] ?? after
          const events = entries.flatMap(([, fields]) => changesOf(fields.slice(2)))
          if (entries.length > 0) yield { events, version: after }
        }
      } finally {
        signal.removeEventListener('abort', abort)
        client.disconnect()
      }
    },
  }
}

type Told = ReturnType<typeof put> | { readonly type: 'delete'; readonly key: string }

function changesOf(fields: readonly string[]): Told[] {
  return fields.flatMap((field, at): Told[] => {
    if (at % 2 === 1) return []
    const key = field.slice(1)
    return [field[0] === 'u' ? put(key, fields[at + 1] ?? '') : { type: 'delete', key }]
  })
}

function put(key: string, value: string): { readonly type: 'put'; readonly key: string; readonly object: Item } {
  return { type: 'put', key, object: JSON.parse(value) as Item }
}
