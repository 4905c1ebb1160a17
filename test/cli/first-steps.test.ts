import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { Child } from '../support/child.js'
import { blocksOf } from '../support/documents.js'
import { textOf } from '../support/sources.js'
import { UserProject } from '../support/user-project.js'
import { node, resultOf, shell, urlOf } from './support.js'

beforeAll(ensureBuilt)

function programsOf(path: string): string[] {
  return blocksOf([path]).flatMap(({ language, text }) => (language === 'js' ? [text] : []))
}

function projectWith(programs: ReadonlyMap<string, string>, packages: string[] = []): UserProject {
  const project = new UserProject(packages)
  onTestFinished(() => project[Symbol.dispose]())
  for (const [name, text] of programs) project.write(name, text)
  return project
}

test('the first program of README.md has at most 15 lines, and runs with node alone, without a server', async () => {
  const [first = ''] = programsOf('README.md')
  expect(first.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
  const { path } = projectWith(new Map([['first.mjs', first]]))
  await using child = new Child(node, ['first.mjs'], { cwd: path })
  expect([await child.ended, child.errors, child.lines]).toEqual([
    { code: 0, signal: null },
    '',
    ['2 orders of acme', '42 open → paid', 'paid'],
  ])
})

describeServer('postgres 18', 'the programs of docs/start/tutorial.md', (postgres) => {
  const at = useServer(postgres)

  test('do what the tutorial says, one after the other', async () => {
    const db = await at.prepared('')
    const env = { DATABASE_URL: urlOf(db) }
    const named = programsOf('docs/start/tutorial.md').map(
      (text) => [/^\/\/ (\S+)/.exec(text)?.[1] ?? '', text] as const,
    )
    const { path } = projectWith(new Map(named), ['pg'])
    const run = (args: readonly string[], more: object = {}): Child => {
      const child = new Child(node, args, { cwd: path, env: { ...process.env, ...env, ...more } })
      onTestFinished(() => child[Symbol.asyncDispose]())
      return child
    }
    expect(await run(['table.js']).ended).toEqual({ code: 0, signal: null })
    const installs = textOf('docs/start/tutorial.md').match(/^npx listwatch pg install .*$/gm) ?? []
    const install = async (nth: number): Promise<void> =>
      expect(await resultOf(shell(`npx() { "$@"; }; ${installs[nth]}`, env))).toMatchObject({ code: 0, errors: '' })
    await install(0)

    const mirror = run(['mirror.js'])
    await mirror.until(() => mirror.lines.includes('1000 orders, 500 of acme'), 'the first list')
    expect(await run(['change.js']).ended).toEqual({ code: 0, signal: null })
    await mirror.until(() => mirror.lines.includes('42: open → paid'), 'the change')
    const isLive = (): number => mirror.lines.filter((line) => line.startsWith('live: ')).length
    const before = isLive()
    await db.sql(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    )
    await mirror.until(() => isLive() > before, 'the resume')
    mirror.kill('SIGINT')
    expect(await mirror.ended).toEqual({ code: 0, signal: null })

    const servers = [run(['server.js'], { PORT: '0' }), run(['server.js'], { PORT: '0' })]
    const urls: string[] = []
    for (const server of servers) {
      const portOf = (): string | undefined =>
        server.lines.flatMap((line) => /^listening on (\d+)/.exec(line)?.[1] ?? [])[0]
      await server.until(() => portOf() !== undefined, 'the server')
      urls.push(`http://localhost:${portOf()}`)
    }
    const caller = run(['caller.js', ...urls])
    expect([await caller.ended, caller.lines]).toEqual([
      { code: 0, signal: null },
      ["{ id: '7', tenant: 'globex', status: 'shipped' }"],
    ])
    for (const server of servers) {
      server.kill('SIGTERM')
      expect(await server.ended).toEqual({ code: 0, signal: null })
    }

    expect(await run(['tenants.js']).ended).toEqual({ code: 0, signal: null })
    await install(1)
    const countries = run(['countries.js'])
    const first = ['de: 499 of 500 orders are open', 'us: 499 of 500 orders are open']
    await countries.until(() => countries.lines.length === 2, 'the first countries')
    expect(countries.lines.toSorted()).toEqual(first)
    expect(await run(['move.js']).ended).toEqual({ code: 0, signal: null })
    await countries.until(() => countries.lines.length === 4, 'the move')
    expect(countries.lines.slice(2).toSorted()).toEqual(['de: no orders', 'us: 997 of 1000 orders are open'])
    countries.kill('SIGINT')
    expect(await countries.ended).toEqual({ code: 0, signal: null })
  })
})
