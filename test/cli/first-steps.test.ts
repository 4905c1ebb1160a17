import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { Child } from '../support/child.js'
import { blocksOf } from '../support/documents.js'
import { textOf } from '../support/sources.js'
import { UserProject } from '../support/user-project.js'
import { expectEnd, node, resultOf, shell, urlOf } from './support.js'

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

const TUTORIAL = 'docs/start/tutorial.md'

/** The programs of the tutorial in the project of a reader of it. */
function tutorial(packages: string[] = []): {
  readonly path: string
  readonly run: (args: readonly string[], env?: object) => Child
} {
  const named = programsOf(TUTORIAL).map((text) => [/^\/\/ (\S+)/.exec(text)?.[1] ?? '', text] as const)
  const { path } = projectWith(new Map(named), packages)
  const run = (args: readonly string[], env: object = {}): Child => {
    const child = new Child(node, args, { cwd: path, env: { ...process.env, ...env } })
    onTestFinished(() => child[Symbol.asyncDispose]())
    return child
  }
  return { path, run }
}

/** Runs the nth command of the tutorial that begins so, in its folder. */
async function install(path: string, start: string, nth: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const command = (textOf(TUTORIAL).match(new RegExp(`^npx listwatch ${start} .*$`, 'gm')) ?? [])[nth]
  const child = shell(`npx() { "$@"; }; cd '${path}'; ${command}`, env)
  expect(await resultOf(child)).toMatchObject({ code: 0, errors: '' })
}

/** The port that a server has printed. */
async function portOf(server: Child): Promise<string> {
  const port = (): string | undefined => server.lines.flatMap((line) => /^listening on (\d+)/.exec(line)?.[1] ?? [])[0]
  await server.until(() => port() !== undefined, 'the server')
  return port() ?? ''
}

test('the first chapter of the tutorial needs no server: a reader has each write of another process', async () => {
  const { path, run } = tutorial()
  await expectEnd(run(['file.js']))
  await install(path, 'sqlite install', 0)
  const reader = run(['reader.js'], { PORT: '0' })
  const url = `http://localhost:${await portOf(reader)}`
  expect(reader.lines).toContain('1000 orders, 500 of acme')
  for (const status of ['paid', 'packed', 'sent']) {
    const writer = run(['writer.js', '42', status, url])
    expect([await writer.ended, writer.lines]).toEqual([{ code: 0, signal: null }, [status]])
  }
  expect(reader.lines.slice(2)).toEqual(['42: open → paid', '42: paid → packed', '42: packed → sent'])
  expect((await fetch(`${url}/42?mark=nonsense`)).status).toBe(400)
  reader.kill('SIGINT')
  expect([await reader.ended, reader.errors]).toEqual([{ code: 0, signal: null }, ''])
})

describeServer('postgres 18', 'the programs of docs/start/tutorial.md', useServer, (at) => {
  test('do what the tutorial says, one after the other', async () => {
    const db = await at.prepared('')
    const env = { DATABASE_URL: urlOf(db) }
    const { path, run: start } = tutorial(['pg'])
    const run = (args: readonly string[], more: object = {}): Child => start(args, { ...env, ...more })
    await expectEnd(run(['table.js']))
    await install(path, 'pg install', 0, env)

    const mirror = run(['mirror.js'])
    await mirror.until(() => mirror.lines.includes('1000 orders, 500 of acme'), 'the first list')
    await expectEnd(run(['change.js']))
    await mirror.until(() => mirror.lines.includes('42: open → paid'), 'the change')
    const isLive = (): number => mirror.lines.filter((line) => line.startsWith('live: ')).length
    const before = isLive()
    await db.sql(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    )
    await mirror.until(() => isLive() > before, 'the resume')
    await expectEnd(mirror, 'SIGINT')

    const servers = [run(['server.js'], { PORT: '0' }), run(['server.js'], { PORT: '0' })]
    const urls: string[] = []
    for (const server of servers) urls.push(`http://localhost:${await portOf(server)}`)
    const caller = run(['caller.js', ...urls])
    expect([await caller.ended, caller.lines]).toEqual([
      { code: 0, signal: null },
      ["{ id: '7', tenant: 'globex', status: 'shipped' }"],
    ])
    for (const server of servers) {
      await expectEnd(server, 'SIGTERM')
    }

    await expectEnd(run(['tenants.js']))
    await install(path, 'pg install', 1, env)
    const countries = run(['countries.js'])
    const first = ['de: 499 of 500 orders are open', 'us: 499 of 500 orders are open']
    await countries.until(() => countries.lines.length === 2, 'the first countries')
    expect(countries.lines.toSorted()).toEqual(first)
    await expectEnd(run(['move.js']))
    await countries.until(() => countries.lines.length === 4, 'the move')
    expect(countries.lines.slice(2).toSorted()).toEqual(['de: no orders', 'us: 997 of 1000 orders are open'])
    await expectEnd(countries, 'SIGINT')
  })
})
