import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { SourceError } from '../../src/contract/errors.js'
import type { ListContext, ListerWatcher, ListPage, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { Item } from './stage.js'

/**
 * A naive source over the watcher of @nats-io/kv, which reconnects by itself. The tests of our source must find its
 * defects.
 */
export function watcherSource(connection: NatsConnection, bucket: string): ListerWatcher<Item> {
  const open = (): Promise<KV> => new Kvm(connection).open(bucket)
  const versionOf = (revision: number): string => ['kv', 'x', revision].join('.')
  return {
    name: 'watcher',
    heartbeatMs: 1e9,
    hasReached: () => true,
    async *list(_: ListContext): AsyncIterable<ListPage<Item>> {
      const kv = await open()
      const { values, streamInfo } = (await kv.status()) as { values: number; streamInfo: StreamInfo }
      const events = []
      if (values > 0) {
        for await (const key of await kv.keys()) {
          const entry = await kv.get(key)
          if (entry?.operation === 'PUT') events.push({ type: 'put' as const, key, object: entry.json<Item>() })
        }
      }
      yield { events, version: versionOf(streamInfo.state.last_seq) }
    },
    async *watch({ after, signal }: WatchContext): AsyncIterable<WatchBatch<Item>> {
      const kv = await open()
      yield { events: [], version: after }
      const watcher = await kv.watch({ resumeFromRevision: Number(after.split('.')[2]) + 1 })
      const stop = (): void => watcher.stop()
      signal.addEventListener('abort', stop, { once: true })
      try {
        for await (const { key, operation, revision, value } of watcher) {
          const event =
            operation === 'PUT'
              ? { type: 'put' as const, key, object: JSON.parse(Buffer.from(value).toString()) as Item }
              : { type: 'delete' as const, key }
          yield { events: [event], version: versionOf(revision) }
        }
        throw new SourceError('the watcher has ended', { code: 'UNAVAILABLE' })
      } finally {
        signal.removeEventListener('abort', stop)
        watcher.stop()
      }
    },
  }
}

interface StreamInfo {
  readonly state: { readonly last_seq: number }
}
