import type { Etcd3 } from 'etcd3'
import { systemClock, type WatchContext } from '../../src/adapter.js'
import { type ListerWatcher, SourceError, type Version } from '../../src/index.js'
import { context, listed as read } from '../support/source-calls.js'
import { type Happening, revisionOf } from './contract-checker.js'

export async function listed(source: ListerWatcher<unknown>): Promise<Version> {
  return (await read(source)).version
}

/** Follows a watch up to a revision, and resumes it after each failure. Returns the number of failures, and the version. */
export async function followTo(
  source: ListerWatcher<unknown>,
  from: Version,
  revision: number,
  onProgressRequest: WatchContext['onProgressRequest'] = () => {},
): Promise<{ readonly breaks: number; readonly version: Version }> {
  const over = new AbortController()
  let [after, breaks] = [from, 0]
  while (revisionOf(after) < revision) {
    try {
      for await (const batch of source.watch({ ...context(over.signal), after, onProgressRequest })) {
        after = batch.version
        if (revisionOf(after) >= revision) break
      }
    } catch (error) {
      if (!(error instanceof SourceError) || error.code !== 'UNAVAILABLE') throw error
      breaks++
      await systemClock.sleep(10)
    }
  }
  over.abort()
  return { breaks, version: after }
}

/** All events under a prefix, up to a revision, as etcd itself returns them. */
export async function historyOf(client: Etcd3, prefix: string, revision: number): Promise<Happening[]> {
  const happenings: Happening[] = []
  const stream = await client.watchClient.watch()
  await new Promise<void>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', ({ events }) => {
      for (const { kv } of events) happenings.push({ revision: Number(kv.mod_revision), key: kv.key.toString() })
      if (happenings.some((each) => each.revision >= revision)) resolve()
    })
    const key = Buffer.from(prefix)
    const end = Buffer.from(prefix.replace(/.$/, '0')) // After "/" comes "0".
    stream.write({ create_request: { key, range_end: end, start_revision: '1' } })
  })
  stream.on('error', () => {})
  stream.end()
  return happenings
}
