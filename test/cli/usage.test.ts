import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureBuilt } from '../support/build.js'
import { root, textOf } from '../support/sources.js'
import { listwatch, refusalOf, resultOf, SECRET, shell, temporaryFolder } from './support.js'

beforeAll(ensureBuilt)

/** No server listens there. */
const NOWHERE = 'postgres://u@127.0.0.1:1/db'
const ORDERS = ['watch', NOWHERE, '--table', 'orders']
const INSTALL = ['pg', 'install', NOWHERE, '--table', 'orders']
const DURATION = 'needs a duration such as 500ms, 20s, 10m or 1h'

const mistakes: readonly (readonly [what: string, args: readonly string[], says: string])[] = [
  ['an unknown command', ['bogus'], "unknown command 'bogus'; see: listwatch --help"],
  ['a misspelt command', ['wach'], "unknown command 'wach' (Did you mean watch?); see: listwatch --help"],
  ['a misspelt command of pg', ['pg', 'instal'], '(Did you mean install?); see: listwatch pg --help'],
  ['an unknown option', [...ORDERS, '--bogus'], "unknown option '--bogus'; see: listwatch watch --help"],
  ['a misspelt option', [...INSTALL, '--prin'], '(Did you mean --print?); see: listwatch pg install --help'],
  ['an argument too many', ['demo', NOWHERE, 'more'], 'too many arguments'],
  ['a demo on something else than a server', ['demo', 'more'], 'invalid URL of Postgres'],
  ['SQLite on a server', ['demo', NOWHERE, '--engine', 'sqlite'], '--engine sqlite needs no URL'],
  ['no table', ['watch', NOWHERE], "option '--table <name>' not specified; see: listwatch watch --help"],
  ['a misspelt option in the place of a required one', ['pg', 'install', NOWHERE, '--tabel', 'a'], "option '--tabel'"],
  ['no table for an installation', ['pg', 'install', NOWHERE], "required option '--table <name>' not specified"],
  ['no engine for a relay', ['relay', NOWHERE, '--too', 'redis://h'], "unknown option '--too'"],
  ['no URL for watch', ['watch', '--table', 'orders'], "missing required argument 'url'; see: listwatch watch --help"],
  ['an option with a slip in it', ['watch', 'postgres://h/d', '--tabel', 'orders'], "unknown option '--tabel'"],
  [
    'an option of another kind of server',
    ['watch', 'postgres://h/d', '--table', 'a', '--codec', 'json'],
    '--codec is an option of etcd, Redis and NATS; Postgres has --table, --columns, --sql, --rls',
  ],
  [
    'a condition in SQL',
    ['list', 'etcd://h', '--prefix', '/', '--sql', 'a=b'],
    '--sql is an option of Postgres, SQLite and MySQL; etcd has --prefix, --codec',
  ],
  [
    'an option in the place of a value',
    [...ORDERS, '--columns', '--for', '3s'],
    '--columns needs a value, got the option',
  ],
  [
    'a short one',
    [...ORDERS, '--columns', '-l', 'a=b'],
    '--columns needs a value, got the option -l; see: listwatch watch',
  ],
  ['one with a value', [...ORDERS, '--for', '--columns=a'], '--for needs a value, got the option --columns'],
  ['the option --help', [...INSTALL, '--key', '--help'], '--key needs a value, got the option --help'],
  [
    'fields of lines of JSON',
    [...ORDERS, '--fields', 'a', '--json'],
    "'--fields <names>' cannot be used with option '--json'",
  ],
  ['no URL for an installation', ['pg', 'install', '--table', 'orders'], 'give the URL of the database, or --print'],
  ['no URL for leases', ['pg', 'install-leases'], 'give the URL of the database, or --print'],
  ['nothing to uninstall', ['pg', 'uninstall', NOWHERE], 'name a table with --table, or everything with --all'],
  ['a name that is empty', ['watch', NOWHERE, '--table', ''], "option '--table <name>' argument '' is invalid"],
  ['a list of columns that is empty', [...ORDERS, '--columns', ''], "option '--columns <names>' argument ''"],
  ['a key that is empty', [...INSTALL, '--key', 'a,,b'], "option '--key <columns>' argument 'a,,b' is invalid"],
  ['a level that there is not', [...INSTALL, '--level', 'each'], 'Allowed choices are auto, statement, row'],
  ['a wake that there is not', [...INSTALL, '--wake', 'often'], 'Allowed choices are auto, bucket, each, none'],
  ['disconnects without a time', ['demo', '--disconnects', '2'], '--disconnects needs --for'],
  ...['x', 'NaN', '-1', '1.5', '1e20', ''].map(
    (text) =>
      [
        `"${text}" disconnects`,
        ['demo', '--for', '1s', `--disconnects=${text}`],
        `--disconnects needs a whole number, got "${text}"`,
      ] as const,
  ),
  ...['x', 'NaN', '-1', '0', '1.5', '2147483648', ''].map(
    (text) =>
      [
        `a bulk of "${text}"`,
        [...INSTALL, `--bulk=${text}`],
        `--bulk needs a whole number from 1 to 2147483647, got "${text}"`,
      ] as const,
  ),
  ...['x', 'NaN', '-1s', '0s', '5', '1e9s', ''].flatMap(
    (text) =>
      [
        [`watching for "${text}"`, [...ORDERS, `--for=${text}`], `--for ${DURATION}, got "${text}"`],
        [`keeping "${text}"`, ['pg', 'trim', NOWHERE, `--keep=${text}`], `--keep ${DURATION}, got "${text}"`],
      ] as const,
  ),
  ['a server that is not there', ORDERS, 'no server listens there: check host and port'],
  ['a host that is not there', ['pg', 'status', 'postgres://nowhere.invalid/db'], 'no such host: check its name'],
]

describe('a mistake prints one line with the fix, and sets exit code 2', () => {
  test.each(mistakes)('%s', async (_what, args, says) => expect(await refusalOf(listwatch(args))).toContain(says))

  const SCHEMES =
    'use postgres://user@host:5432/database, mysql://user@host:3306/database (mariadb://), etcd://host:2379 (etcds://), redis://host:6379 (rediss://), nats://host:4222 (tls://),'
  test.each([
    ['a misspelt scheme', 'rdis://h', 'unknown scheme "rdis:"; use postgres://'],
    ['a scheme of another server', `mongodb://user:${SECRET}@host/db`, `unknown scheme "mongodb:"; ${SCHEMES}`],
    ['a scheme of the web', 'http://localhost:26379', 'unknown scheme "http:"'],
    ['a misspelt resource', 'kuberntes://default/pods', 'unknown scheme "kuberntes:"'],
    ['no URL', SECRET, `the URL has no scheme; ${SCHEMES}`],
    ['a host and a port', 'localhost:26379', 'the URL has no scheme'],
    ['a URL without a scheme', `user:${SECRET}@host/db`, 'the URL has no scheme'],
    ['a scheme without a colon', `postgres//user:${SECRET}@host/db`, 'the URL has no scheme'],
    ['a scheme without slashes', `postgres:/user:${SECRET}@host/db`, 'the URL has no scheme'],
  ])('%s: the schemes that there are, and no password', async (_what, url, says) => {
    expect(await refusalOf(listwatch(['watch', url, '--table', 'orders']))).toContain(says)
  })

  test.each([
    ['postgres', 'POSTGRES://u@127.0.0.1:1/db', '--table'],
    ['etcd', 'Etcd://127.0.0.1:1', '--prefix'],
    ['Redis', 'Redis://127.0.0.1:1', '--collection'],
  ])('the scheme of %s may be in capitals', async (_what, url, option) => {
    expect(await refusalOf(listwatch(['watch', url, option, 'a']))).toContain('no server listens there')
  })

  const ENCODING = 'in user and password # is %23, ? is %3F, / is %2F, @ is %40, % is %25'
  const raw = ['#', '?', '/', '1#', '1?', '1/', 'a#b c', '%'].map((mark) => `u:${mark}${SECRET}@127.0.0.1:1`)
  const cut: readonly (readonly [url: string, option: string])[] = [
    ...raw.map((rest) => [`postgres://${rest}/db`, '--table'] as const),
    ...raw.map((rest) => [`redis://${rest}`, '--collection'] as const),
    ...raw.map((rest) => [`etcd://${rest}`, '--prefix'] as const),
    [`rediss://u:#${SECRET}@127.0.0.1:1/0`, '--collection'],
    [`postgres://127.0.0.1:1/db#${SECRET}`, '--table'],
    [`redis://127.0.0.1:1?password=${SECRET}`, '--collection'],
    [`etcd://127.0.0.1:1?password=${SECRET}`, '--prefix'],
    [`nats://127.0.0.1:1?password=${SECRET}`, '--relay'],
    [`nats://user:1#${SECRET}@127.0.0.1:1`, '--relay'],
  ]
  test.each(cut)('%s: the line has no password, and explains the encoding', async (url, option) => {
    expect(await refusalOf(listwatch(['watch', url, option, 'a']))).toContain(ENCODING)
  })

  test.each([
    ['as a command', [`redis://u:a#${SECRET}@h`], 'unknown command'],
    ['as the name of a namespace', ['watch', `kubernetes://u:${SECRET}@h/pods`], 'invalid URL of a resource'],
    ['for an installation', ['pg', 'status', `postgres://u:1#${SECRET}@h/db`], ENCODING],
    ['with a space', ['watch', `redis://u:a ${SECRET}@127.0.0.1:1`, '--collection', 'a'], 'redis://u:***@127.0.0.1:1:'],
    ['with an @', ['watch', `redis://u:a@${SECRET}@127.0.0.1:1`, '--collection', 'a'], 'redis://u:***@127.0.0.1:1:'],
    ['as a token', ['watch', `nats://${SECRET}@127.0.0.1:1`, '--relay', 'a'], 'cannot connect to nats://127.0.0.1:1:'],
    ['for etcd', ['watch', `etcd://u:${SECRET}@127.0.0.1:1`, '--prefix', 'a'], 'etcd://u:***@127.0.0.1:1:'],
  ])('a password %s is not printed', async (_what, args, says) => {
    expect(await refusalOf(listwatch(args))).toContain(says)
  })

  test('a URL without a scheme is reported before a missing option', async () => {
    const child = listwatch(['query', '127.0.0.1:45432/shop'])
    expect(await refusalOf(child)).toContain('the URL has no scheme; use postgres://')
  })

  test('if no server listens, no password is printed', async () => {
    const url = `postgres://user:${SECRET}@127.0.0.1:1/db?password=${SECRET}`
    const line = await refusalOf(listwatch(['watch', url, '--table', 'orders', '--index', 'id']))
    expect(line).toMatch(/^cannot connect to postgres:\/\/user:\*\*\*@127\.0\.0\.1:1\/db: connect ECONNREFUSED/)
  })
})

describe('what is missing is named, with the command that installs it', () => {
  /** A copy of the package that finds only these dependencies. */
  function copyWith(dependencies: readonly string[]): string {
    const folder = temporaryFolder()
    for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true })
    mkdirSync(join(folder, 'node_modules'))
    for (const name of dependencies) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    return join(folder, 'dist/cli/bin.cjs')
  }

  test('the driver', async () => {
    const copy = copyWith(['eventemitter3'])
    expect(await refusalOf(listwatch(ORDERS, { main: copy }))).toBe('pg is missing; install it with: npm i pg@^8.16')
  })

  test('[D10] nothing that the command line itself needs: its own packages are bundled into it', async () => {
    const copy = copyWith(['eventemitter3'])
    const { code, output } = await resultOf(listwatch(['watch', '--help'], { main: copy }))
    expect([code, output]).toEqual([0, expect.stringContaining('--index <column>')])
  })
})

describe('a Node that is too old', () => {
  test.each(['22.11.0', '20.20.2', '18.0.0'])('%s is refused by a line with the version needed', async (version) => {
    const preload = join(temporaryFolder(), 'version.cjs')
    writeFileSync(preload, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
    const child = listwatch(ORDERS, { env: { NODE_OPTIONS: `--require=${preload}` } })
    expect(await refusalOf(child)).toBe(`Node ${version} is too old; install Node 22.12 or later`)
  })

  test('loads nothing of the program before it is refused', () => {
    expect(textOf('dist/cli/bin.cjs')).not.toMatch(/require\(|^import /m)
  })
})

describe('help', () => {
  test('of every command and subcommand has examples of it, with options that exist', async () => {
    const pathsUnder = async (path: readonly string[]): Promise<(readonly string[])[]> => {
      const { code, output } = await resultOf(listwatch([...path, '--help']))
      expect(code).toBe(0)
      const [, commands] = output.split('\nCommands:\n')
      if (commands !== undefined) {
        const names = Array.from(commands.matchAll(/^ {2}([\w-]+)/gm), ([, name = '']) => name)
        const below = names.filter((name) => name !== 'help').map((name) => pathsUnder([...path, name]))
        return (await Promise.all(below)).flat()
      }
      const [options = '', examples = ''] = output.split('\nExamples:\n')
      const lines = examples.split('\n').filter((line) => line !== '')
      // Some examples continue with another command.
      const own = lines.filter((line) => new RegExp(`\\blistwatch ${path.join(' ')}\\b`).test(line))
      expect(own.length, path.join(' ')).toBeGreaterThan(0)
      for (const line of own) {
        const [command = ''] = line.split(/ [|>#] /)
        const used = Array.from(command.matchAll(/ (--[a-z-]+|-\w)\b/g), ([, option = '']) => option)
        const missing = used.filter((option) => !new RegExp(`^  (-\\w, )?${option}\\b`, 'm').test(options))
        expect(missing, line).toEqual([])
      }
      return [path]
    }
    const paths = await pathsUnder([])
    expect(paths.map((path) => path.join(' '))).toEqual(
      expect.arrayContaining([
        'watch',
        'get',
        'list',
        'query',
        'verify',
        'doctor',
        'serve',
        'relay',
        'demo',
        'pg trim',
      ]),
    )
    expect(paths.length).toBeGreaterThan(13)
  })

  test('names the version that package.json has', async () => {
    const { output } = await resultOf(listwatch(['--version']))
    expect(output).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

test('a closed pipe ends the command silently', async () => {
  const { errors, output } = await resultOf(
    shell('for i in 1 2 3 4 5; do listwatch pg install --table orders --print | true; done; listwatch --help | true'),
  )
  expect({ errors, output }).toEqual({ errors: '', output: '' })
})
