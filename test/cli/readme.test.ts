import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { ensureBuilt } from '../support/build.js'
import { Child } from '../support/child.js'
import { blocksOf } from '../support/documents.js'
import { textOf } from '../support/sources.js'
import { UserProject } from '../support/user-project.js'
import { node, resultOf, shell, urlOf } from './support.js'

beforeAll(ensureBuilt)

const [first] = blocksOf(['README.md']).filter(({ language }) => language === 'ts')

describeServer('postgres 18', 'the first example of README.md', (postgres) => {
  const at = useServer(postgres)

  test('has at most 15 lines', () => {
    expect(first?.text.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
  })

  test('runs as it is printed, once the table is prepared as is said under it', async () => {
    const db =
      await at.prepared(`CREATE TABLE orders (id bigint PRIMARY KEY, tenant text NOT NULL, status text NOT NULL);
      INSERT INTO orders SELECT g, CASE g % 2 WHEN 0 THEN 'acme' ELSE 'other' END, 'open' FROM generate_series(1, 50) g`)
    const [, command = ''] = /^Prepare the table once: `([^`]+)`/m.exec(textOf('README.md')) ?? []
    const env = { DATABASE_URL: urlOf(db) }
    const { code, errors } = await resultOf(shell(`npx() { "$@"; }; ${command}`, env))
    expect({ code, errors }).toEqual({ code: 0, errors: '' })

    const project = new UserProject(['pg'])
    onTestFinished(() => project[Symbol.dispose]())
    project.write('first.ts', first?.text ?? '')
    const child = new Child(node, ['first.ts'], { cwd: project.path, env: { ...process.env, ...env } })
    onTestFinished(() => child[Symbol.asyncDispose]())
    await child.until(() => child.lines.length > 0, 'the first line')
    expect(child.lines[0]).toBe("50 { id: '42', tenant: 'acme', status: 'open' } 25")
    await db.sql(`UPDATE orders SET status = 'paid' WHERE id = 42`)
    await child.until(() => child.lines.length > 1, 'the change')
    expect(child.lines[1]).toBe('42 open → paid')
    child.kill('SIGINT')
    expect(await child.ended).toEqual({ code: 0, signal: null })
    expect(child.errors).toBe('')
    await waitUntil('its connections to be closed', async () => {
      const others =
        'SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
      return (await db.value(others)) === '0'
    })
  })
})
