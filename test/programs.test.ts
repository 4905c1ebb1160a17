import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { binary, ensureBuilt } from './support/build.js'
import { portOf } from './support/listening.js'
import { Program, type ProgramOptions, prepare } from './support/programs.js'
import { filesUnder, root } from './support/sources.js'

const programs = filesUnder(['test/programs'], '.ts')
  .filter((path) => /^test\/programs\/\d/.test(path))
  .map((path) => path.replace(/^test\/programs\/|\.ts$/g, ''))

beforeAll(ensureBuilt)

describe('every program compiles against the built package, and what it says is wrong is refused', () => {
  let errors: string[] = []
  beforeAll(() => {
    const { stdout } = spawnSync(binary('tsc'), ['-p', 'test/programs/tsconfig.json', '--pretty', 'false'], {
      cwd: root,
      encoding: 'utf8',
    })
    errors = stdout.split('\n').filter((line) => line !== '')
  })

  test.each(programs)('%s', (name) => expect(errors.filter((line) => line.includes(`${name}.ts(`))).toEqual([]))

  test('and so does what they are run with', () => {
    expect(errors.filter((line) => !programs.some((name) => line.includes(`${name}.ts(`)))).toEqual([])
  })

  test('there are as many as were promised', () => {
    expect(programs.map((name) => name.slice(0, 2))).toEqual('01 02 03 04 05 06 07 08 09 10 11'.split(' '))
  })
})

test('the runner leaves out what a program says is wrong, to the end of the statement', () => {
  const text = 'const a = 1\n// @ts-expect-error why\nf({\n  a,\n})\n  // @ts-expect-error\n  g(a)\nh(a as number)\n'
  expect(prepare(text).replace(/ +/g, ' ')).toBe('const a = 1\nh(a )\n')
})

function run(name: string, options?: ProgramOptions): Program {
  const program = new Program(name, options)
  onTestFinished(() => program[Symbol.asyncDispose]())
  return program
}

/** A server for the test, and its address. */
const serve = async (server: Server): Promise<string> => `http://127.0.0.1:${await portOf(server)}`

test('02: a controller runs each job, runs it again when its pod changes, cleans up a deleted one, and ends after the migration', async () => {
  const program = run('02-controller', { setup: '02-jobs.ts', speed: 20 })
  await program.until(() => program.notes.includes('ensure migrate pending 1'), 'the first run')
  await program.until(() => program.notes.includes('ensure report pending 2'), 'the run that was put off')
  program.send({ what: 'pod', name: 'migrate' })
  await program.until(() => program.notes.includes('ensure migrate pending 2'), 'the run because of a pod')
  program.send({ what: 'delete', name: 'report' })
  await program.until(() => program.notes.includes('cleanup r:1'), 'what is gone is cleaned up')
  program.send({ what: 'done', name: 'migrate' })
  expect(await program.ended).toEqual({ code: 0, signal: null })
  expect(program.errors).toBe('')
})

test('03: GET /events sends reset, the orders of the tenant, up-to-date, and then the changes', async () => {
  const program = run('03-sse', { setup: '03-orders.ts' })
  const port = await program.port(3_000)
  const gone = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}/events?tenant=acme`, { signal: gone.signal })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events = eventsOf(response)
  const next = async (): Promise<unknown> => (await events.next()).value
  expect(await next()).toEqual({ event: 'reset', data: {} })
  expect(await next()).toEqual({ event: 'add', data: { key: '1', object: { id: '1', tenant: 'acme' } } })
  expect(await next()).toEqual({ id: expect.stringMatching(/^\d+\.1\.0$/), event: 'up-to-date', data: {} })
  program.send({ put: { id: '3', tenant: 'other' } })
  program.send({ put: { id: '4', tenant: 'acme' } })
  const told: unknown[] = []
  do told.push(await next())
  while (!JSON.stringify(told).includes('"4"'))
  expect(JSON.stringify(told)).not.toContain('"3"')
  gone.abort()
  expect(program.errors).toBe('')
})

async function* eventsOf(response: Response): AsyncGenerator<Record<string, unknown>> {
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = text
        .slice(0, end)
        .split('\n')
        .map((line) => line.split(/: (.*)/s, 2))
      text = text.slice(end + 2)
      yield Object.fromEntries(fields.map(([name, value = '']) => [name, name === 'data' ? JSON.parse(value) : value]))
    }
  }
}

test('05: a join of two informers, and a set of sources publishes what belongs together, also when the other side changes, and reads several sources as one', async () => {
  const program = run('05-join', { setup: '05-services.ts', goesOn: true })
  const all = [
    'publish web new@example.com',
    'publish db two@example.com',
    "[ 'one@example.com', 'two@example.com' ]",
    "[ 'web', 'db' ] true",
  ]
  await program.until(() => {
    const told = [...program.notes, ...program.lines]
    return all.every((each) => told.includes(each))
  }, 'what belongs together, and the change of an owner')
})

test('06: an orderly end: /ready is 503 before the first list and 200 after it; SIGTERM ends the process with code 0', async () => {
  const program = run('06-shutdown', { setup: '06-late.ts' })
  const port = await program.port(8_080)
  const ask = async (path: string): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
    return [response.status, await response.text()]
  }
  expect(await ask('/ready')).toEqual([503, 'listing: reading the first list'])
  expect((await ask('/live'))[0]).toBe(200)
  program.send({ go: true })
  await program.until(() => program.lines.includes('ready true'), 'it says that it is ready')
  expect(await ask('/ready')).toEqual([200, 'live: following the watch'])
  program.kill('SIGTERM')
  expect(await program.ended).toEqual({ code: 0, signal: null })
  expect(program.errors).toBe('')
})

test('07: a test of a user passes', () => {
  const args = ['run', '--root', 'test/programs', '--config', 'vitest.config.ts']
  const { stdout, stderr, status } = spawnSync(binary('vitest'), args, { cwd: root, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  expect(stdout).toContain('ok 1 - 07-test.ts > totals follow updates')
})

describe('08: an adapter for a REST collection', () => {
  test('the program reads the collection and ends', async () => {
    const asked: string[] = []
    const address = await serve(
      createServer((request, response) => {
        asked.push(`${request.method} ${request.url}`)
        response.setHeader('etag', '"1"').end(JSON.stringify([{ code: 'ch', name: 'Switzerland' }]))
      }),
    )
    const program = run('08-rest-adapter', { addresses: { 'https://example.com': address } })
    expect(await program.ended, program.errors).toEqual({ code: 0, signal: null })
    expect(asked).toEqual(['GET /countries'])
  })

  test('the adapter follows the collection: replaced, unchanged, refused for a while', async () => {
    const answers = [
      {
        etag: '"1"',
        body: [
          { code: 'ch', name: 'Switzerland' },
          { code: 'su', name: 'Soviet Union' },
        ],
      },
      {
        etag: '"2"',
        body: [
          { code: 'ch', name: 'Schweiz' },
          { code: 'at', name: 'Austria' },
        ],
      },
    ]
    let now = 0
    let refusals = 0
    const unchanged = Promise.withResolvers<void>()
    const address = await serve(
      createServer((request, response) => {
        const { etag = '', body } = answers[now] ?? {}
        if (refusals > 0) {
          refusals--
          response.writeHead(503, { 'retry-after': '0.9' }).end()
        } else if (request.headers['if-none-match'] === etag) {
          unchanged.resolve()
          response.writeHead(304).end()
        } else response.setHeader('etag', etag).end(JSON.stringify(body))
      }),
    )
    const program = run('08-rest-adapter', { setup: '08-follow.ts', addresses: { 'https://example.com': address } })
    program.send({ url: `${address}/countries` })
    await program.until(() => program.notes.includes('synced'), 'the first list')
    await unchanged.promise
    now = 1
    const changed = ['delete Soviet Union', 'update Schweiz', 'add Austria']
    await program.until(() => changed.every((note) => program.notes.includes(note)), 'the replacement')
    refusals = 1
    await program.until(() => program.notes.includes('error UNAVAILABLE 900'), 'the refusal')
    now = 0
    await program.until(() => program.notes.includes('update Switzerland'), 'what changed meanwhile')
  })
})

test('09: a program that composes a reflector and a queue prints the first objects and each change, and ends in time', async () => {
  const program = run('09-by-hand', { setup: '09-pods.ts', speed: 5 })
  await program.until(() => program.lines.includes('replaced a n1'), 'what was there')
  program.send({ put: { name: 'b', node: 'n1' } })
  await program.until(() => program.lines.includes('added b n1'), 'what was added')
  await program.until(() => program.lines.at(-1) === '2', 'the index')
  program.send({ put: { name: 'a', node: null } })
  program.send({ gone: 'b' })
  await program.until(() => program.lines.includes('deleted b n1'), 'what is gone')
  expect(program.lines).toContain('updated a null')
  expect(await program.ended).toEqual({ code: 0, signal: null })
  expect(program.errors).toBe('')
})

test('the files that the runner needs are there', () => {
  expect(['node', 'tsc', 'vitest'].filter((name) => !existsSync(binary(name)))).toEqual([])
  expect(existsSync(join(root, 'test/support/program-preload.ts'))).toBe(true)
})
