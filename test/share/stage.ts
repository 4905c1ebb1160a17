import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { serveShared } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'
import { internalsOf } from '../../src/informer/internals.js'
import { memorySource } from '../../testing/index.js'

export type Row = { readonly n: number; readonly text: string }

export function rows(count: number): [string, Row][] {
  return Array.from({ length: count }, (_, i) => [`${i}`, { n: i, text: 'x'.repeat(100) }])
}

/** A shared informer over objects in memory, which counts the lists and watches of its source. */
export async function stage(count: number) {
  const memory = memorySource<Row>({ entries: rows(count), heartbeatMs: 300 })
  let watches = 0
  let snapshots = 0
  const { watch } = memory
  memory.watch = (context) => {
    watches++
    return watch.call(memory, context)
  }
  const informer = createInformer({ source: memory })
  const { snapshot } = informer
  informer.snapshot = () => {
    snapshots++
    return snapshot.call(informer)
  }
  const mirror = internalsOf(informer)?.objects
  if (mirror === undefined) throw new Error('the informer cannot be packed')
  let packs = 0
  const { pin } = mirror
  Object.assign(mirror, {
    pin: () => {
      packs++
      return pin.call(mirror)
    },
  })
  await informer.start().synced()
  const share = serveShared(informer, { heartbeatMs: 300 })
  onTestFinished(async () => {
    await share.close()
    await informer.stop()
  })
  const sum = (): number => informer.list().reduce((total, { n }) => total + n, 0)
  return { memory, informer, share, sum, watches: () => watches, snapshots: () => snapshots, packs: () => packs }
}

/** A path for a socket, in a folder that is removed. */
export function socketPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'share-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'rows.sock')
}
