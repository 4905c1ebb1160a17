import { Etcd3 } from 'etcd3'
import { SourceError } from '../../src/contract/errors.js'
import type {
  ListContext,
  ListerWatcher,
  ListPage,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../src/contract/source.js'
import type { Item } from './stage.js'

/**
 * What one would write over etcd3's own Watcher, which reconnects and resumes by itself: what the tests that judge our
 * source must find fault with.
 */
export function watcherSource(hosts: string, prefix: string): ListerWatcher<Item> {
  const connect = (): Etcd3 => new Etcd3({ hosts, grpcOptions: { 'grpc.max_receive_message_length': -1 } })
  return {
    name: 'etcd3',
    heartbeatMs: 1e9,
    hasReached: (at, mark) => Number(at.split('.')[3] ?? at) >= Number(mark.split('.')[3] ?? mark),
    async *list(_: ListContext): AsyncIterable<ListPage<Item>> {
      const client = connect()
      try {
        const { header, kvs } = await client.getAll().prefix(prefix).exec()
        yield { events: kvs.map((kv) => put(kv)), version: versionOf(header.revision) }
      } finally {
        client.close()
      }
    },
    async *watch({ after, signal }: WatchContext): AsyncIterable<WatchBatch<Item>> {
      const client = connect()
      const batches: WatchBatch<Item>[] = []
      let failure: unknown
      let wake = (): void => {}
      const fail = (error: unknown): void => {
        failure = error
        wake()
      }
      const abort = (): void => fail(new SourceError('no longer wanted', { code: 'STOPPED' }))
      signal.addEventListener('abort', abort, { once: true })
      try {
        const watcher = client
          .watch()
          .prefix(prefix)
          .startRevision(String(Number(after.split('.')[3]) + 1))
          .watcher()
        watcher.on('data', ({ events }) => {
          const last = events.at(-1)
          if (last === undefined) return
          const told = events.map(
            ({ type, kv }): WatchEvent<Item> =>
              type === 'Put' ? put(kv) : { type: 'delete', key: kv.key.toString(), version: kv.mod_revision },
          )
          batches.push({ events: told, version: versionOf(last.kv.mod_revision) })
          wake()
        })
        watcher.once('connected', () => {
          batches.unshift({ events: [], version: after })
          wake()
        })
        watcher.on('error', (error) => fail(new SourceError(error.message, { code: 'VERSION_EXPIRED' })))
        while (failure === undefined) {
          const batch = batches.shift()
          if (batch !== undefined) yield batch
          else
            await new Promise<void>((resolve) => {
              wake = resolve
            })
        }
        throw failure
      } finally {
        signal.removeEventListener('abort', abort)
        client.close()
      }
    },
  }
}

function versionOf(revision: string): string {
  return ['etcd3', 'x', 0, revision].join('.')
}

function put({ key, value, mod_revision }: { key: Buffer; value: Buffer; mod_revision: string }): {
  readonly type: 'put'
  readonly key: string
  readonly object: Item
  readonly version: string
} {
  return { type: 'put', key: key.toString(), object: JSON.parse(value.toString()) as Item, version: mod_revision }
}
