import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { serveShared } from '../../serving/share/index.js'
import { mirror, useServer } from '../postgres/support.js'
import { describePostgres } from '../servers/index.js'
import { root } from '../support/sources.js'

describePostgres('a share of a table', (postgres) => {
  const at = useServer(postgres)

  test('[T9] shows a worker thread what a transaction wrote, once its mark is waited for', async () => {
    const db = await at.installed('CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)')
    const { source, informer } = await mirror(db, { table: 't' })
    await using share = serveShared(informer)
    const port = share.port()
    const worker = new Worker(join(root, 'test/share/postgres-worker.ts'), {
      workerData: { port, config: db.config() },
      transferList: [port],
      execArgv: ['--import', join(root, 'scripts/typescript.mjs')],
    })
    onTestFinished(() => worker.terminate().then(() => {}))
    await once(worker, 'message')
    const tx = await db.connect()
    for (let n = 1; n <= 50; n++) {
      await tx.query('BEGIN')
      await tx.query('UPDATE t SET n = $1 WHERE id = 1', [n])
      const mark = await source.mark(tx)
      await tx.query('COMMIT')
      const seen = once(worker, 'message')
      worker.postMessage(mark)
      expect(await seen).toEqual([{ id: 1, n }])
    }
  })
})
