import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { useRedis } from '../redis/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import type { Child } from '../support/child.js'
import {
  informersAt,
  listwatch,
  outputOf,
  refusalOf,
  resultOf,
  SECRET,
  shell,
  temporaryFolder,
  urlOf,
} from './support.js'

function folderWith(name: string, text: string): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, name), text)
  return folder
}

describeServer('redis 7.0', 'a configuration file', useRedis, (own) => {
  test('names sources for each command, and serve serves all of them', async () => {
    await own.redis.client().mset({ 'user:1': '{"city":"Rome"}', 'user:2': '{"city":"Oslo"}', 'job:1': '{"n":1}' })
    const { url } = own.redis
    const sources = { users: { url, keys: 'user:*', index: ['city'] }, jobs: { url, keys: 'job:*', codec: 'string' } }
    const folder = folderWith('listwatch.config.json', JSON.stringify({ sources }))
    const listed = await outputOf(shell(`cd '${folder}' && listwatch list @jobs`))
    expect(listed).toBe('{"key":"job:1","object":"{\\"n\\":1}"}\n')
    const config = ['--config', join(folder, 'listwatch.config.json')]
    const overridden = await resultOf(listwatch(['get', '@jobs', 'job:1', '--codec', 'json', ...config]))
    expect(overridden.output).toBe('{"key":"job:1","object":{"n":1}}\n')
    const child = listwatch(['serve', ...config])
    await waitUntil('the objects', async () => {
      const shown = (await informersAt(child)).map(({ name, size, indexes }) => ({ name, size, indexes }))
      return isDeepStrictEqual(shown, [
        { name: 'users', size: 2, indexes: ['city'] },
        { name: 'jobs', size: 1, indexes: [] },
      ])
    })
    child.kill('SIGINT')
    expect((await resultOf(child)).errors).toBe('')
  })

  test('may be TypeScript', async () => {
    await own.redis.client().mset({ 'typed:1': '{"n":1}' })
    const text = `const url: string = process.env['TEST_URL']!\nexport default { sources: { typed: { url, keys: 'typed:*' } } }\n`
    const folder = folderWith('listwatch.config.ts', text)
    const child = shell(`cd '${folder}' && listwatch list @typed`, { TEST_URL: own.redis.url })
    expect(await resultOf(child)).toMatchObject({ code: 0, output: '{"key":"typed:1","object":{"n":1}}\n' })
  })
})

describeServer('postgres 18', 'serve with a configuration file', useServer, (at) => {
  test('names the source that has an unknown index, or that cannot be read', async () => {
    const tables = 'CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE bare (id int PRIMARY KEY)'
    const url = urlOf(await at.installed(tables, 'orders'))
    const serve = (sources: object): Child => {
      const folder = folderWith('listwatch.config.json', JSON.stringify({ sources }))
      return listwatch(['serve', '--config', join(folder, 'listwatch.config.json')])
    }
    const good = { url, table: 'orders' }
    expect(await refusalOf(serve({ good, odd: { url, table: 'orders', index: ['nope'] } }))).toBe(
      'source "odd": --index: orders has no column "nope"; it has id',
    )
    const { code, errors } = await resultOf(serve({ good, second: { url, table: 'bare' } }))
    expect(errors).toContain('listwatch: source "second": the triggers of listwatch are not installed on')
    expect(code).toBe(2)
  })
})

describe('a mistake in a configuration file is one line that names it', () => {
  const URL_WITH_SECRET = `redis://u:${SECRET}@127.0.0.1:2`
  const entry = (options: object): string => JSON.stringify({ sources: { a: { url: URL_WITH_SECRET, ...options } } })
  test.each([
    ['no JSON', `{ "sources": "${SECRET}",, }`, 'listwatch.config.json is not valid JSON'],
    ['no sources', '{}', 'it must have the form { "sources": { "orders": {'],
    ['no URL', '{"sources":{"a":{"table":"a"}}}', 'source "a": it needs a "url"'],
    ['an unknown scheme', '{"sources":{"a":{"url":"rdis://h"}}}', 'source "a": unknown scheme "rdis:"'],
    ['a misspelt option', entry({ kyes: 'a*' }), 'source "a": there is no option "kyes"; there are url, table,'],
    [
      'an option of another kind',
      entry({ table: 'a' }),
      'source "a": --table is an option of Postgres, SQLite and MySQL; Redis has',
    ],
    ['a wrong choice', entry({ codec: 'xml' }), 'Allowed choices are json, string, bytes'],
    ['a number', entry({ keys: 1 }), 'source "a": "keys" must be a text, or an array of texts'],
    ['a text for a switch', entry({ cluster: 'yes' }), 'source "a": "cluster" must be true or false'],
  ])('%s', async (_what, text, says) => {
    const path = join(folderWith('listwatch.config.json', text), 'listwatch.config.json')
    expect(await refusalOf(listwatch(['list', '@a', '--config', path]))).toContain(says)
    expect(await refusalOf(listwatch(['serve', '--config', path]))).toContain(says)
  })

  test('an unknown name, no file, a file with an error, and an option without a source', async () => {
    const path = join(folderWith('listwatch.config.json', entry({ keys: 'a*' })), 'listwatch.config.json')
    expect(await refusalOf(listwatch(['list', '@b', '--config', path]))).toBe('there is no source "b"; there are a')
    expect(await refusalOf(listwatch(['serve']))).toBe(
      'no listwatch.config.ts, listwatch.config.js or listwatch.config.json is in this folder: pass the URL of a source, or name a file with --config',
    )
    expect(await refusalOf(listwatch(['list', '@a', '--config', 'none.json']))).toContain('there is no file none.json')
    expect(await refusalOf(listwatch(['serve', '--index', 'a', '--config', path]))).toContain('--index needs the URL')
    const broken = join(folderWith('broken.config.js', 'export default nothing'), 'broken.config.js')
    expect(await refusalOf(listwatch(['list', '@a', '--config', broken]))).toContain(
      'broken.config.js cannot be loaded: nothing is not defined',
    )
  })
})
