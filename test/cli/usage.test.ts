import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root, textOf } from '../support/sources.js'
import {
  listwatch,
  type Refusals,
  refusalOf,
  resultOf,
  SECRET,
  shell,
  temporaryFolder,
  testRefusals,
} from './support.js'

/** No server listens there. */
const NOWHERE = 'postgres://u@127.0.0.1:1/db'
const ORDERS = `watch ${NOWHERE} --table orders`
const INSTALL = `pg install ${NOWHERE} --table orders`
const DURATION = 'needs a duration such as 500ms, 20s, 10m or 1h'

const mistakes: Refusals = [
  ['bogus', "unknown command 'bogus'; see: listwatch --help"],
  ['wach', "unknown command 'wach' (Did you mean watch?); see: listwatch --help"],
  ['pg instal', '(Did you mean install?); see: listwatch pg --help'],
  [`${ORDERS} --bogus`, "unknown option '--bogus'; see: listwatch watch --help"],
  [`${INSTALL} --prin`, '(Did you mean --print?); see: listwatch pg install --help'],
  [`demo ${NOWHERE} more`, 'too many arguments'],
  ['demo more', 'invalid URL of Postgres'],
  [`demo ${NOWHERE} --engine sqlite`, '--engine sqlite needs no URL'],
  [`watch ${NOWHERE}`, "option '--table <name>' not specified; see: listwatch watch --help"],
  [`pg install ${NOWHERE} --tabel a`, "option '--tabel'"],
  [`pg install ${NOWHERE}`, "required option '--table <name>' not specified"],
  [`relay ${NOWHERE} --too redis://h`, "unknown option '--too'"],
  ['watch --table orders', "missing required argument 'url'; see: listwatch watch --help"],
  ['watch postgres://h/d --tabel orders', "unknown option '--tabel'"],
  [
    'watch postgres://h/d --table a --codec json',
    '--codec is an option of etcd, Redis and NATS; Postgres has --table, --columns, --sql, --rls',
  ],
  [
    'list etcd://h --prefix / --sql a=b',
    '--sql is an option of Postgres, SQLite and MySQL; etcd has --prefix, --codec',
  ],
  [`${ORDERS} --columns --for 3s`, '--columns needs a value, got the option'],
  [`${ORDERS} --columns -l a=b`, '--columns needs a value, got the option -l; see: listwatch watch'],
  [`${ORDERS} --for --columns=a`, '--for needs a value, got the option --columns'],
  [`${INSTALL} --key --help`, '--key needs a value, got the option --help'],
  [`${ORDERS} --fields a --json`, "'--fields <names>' cannot be used with option '--json'"],
  ['pg install --table orders', 'give the URL of the database, or --print'],
  ['pg install-leases', 'give the URL of the database, or --print'],
  [`pg uninstall ${NOWHERE}`, 'name a table with --table, or everything with --all'],
  [`watch ${NOWHERE} --table ''`, "option '--table <name>' argument '' is invalid"],
  [`${ORDERS} --columns ''`, "option '--columns <names>' argument ''"],
  [`${INSTALL} --key a,,b`, "option '--key <columns>' argument 'a,,b' is invalid"],
  [`${INSTALL} --level each`, 'Allowed choices are auto, statement, row'],
  [`${INSTALL} --wake often`, 'Allowed choices are auto, bucket, each, none'],
  ['demo --disconnects 2', '--disconnects needs --for'],
  ...['x', 'NaN', '-1', '1.5', '1e20', ''].map(
    (text) => [`demo --for 1s --disconnects=${text}`, 'It must be a whole number from 0'] as const,
  ),
  ...['x', 'NaN', '-1', '0', '1.5', '2147483648', ''].map(
    (text) => [`${INSTALL} --bulk=${text}`, 'It must be a whole number from 1 to 2147483647'] as const,
  ),
  ...['x', 'NaN', '-1s', '0s', '5', '1e9s', ''].flatMap((text) => [
    [`${ORDERS} --for=${text}`, `--for ${DURATION}, got "${text}"`] as const,
    [`pg trim ${NOWHERE} --keep=${text}`, `--keep ${DURATION}, got "${text}"`] as const,
  ]),
  [ORDERS, 'no server listens there: check host and port'],
  [`doctor ${NOWHERE} --table orders`, 'cannot connect to'],
  [`doctor ${NOWHERE}`, "'--table <name>'"],
  [`demo postgres://user:${SECRET}@127.0.0.1:1/db --json`, 'cannot connect to postgres://user:***@127.0.0.1:1/db: '],
  ['serve redis://h --keys a* --port 99999', 'It must be a whole number from 0 to 65535'],
  ['completion tcsh', 'Allowed choices are bash, zsh, fish'],
  ['pg status postgres://nowhere.invalid/db', 'no such host: check its name'],
]

describe('a mistake prints one line with the fix, and sets exit code 2', () => {
  testRefusals(mistakes)

  // Of a scheme that there is not, and of none.
  const UNKNOWN =
    'use postgres://user@host:5432/database, mysql://user@host:3306/database (mariadb://), etcd://host:2379 (etcds://), redis://host:6379 (rediss://), nats://host:4222 (tls://),'
  const schemes: Refusals = [
    ['rdis://h', 'unknown scheme "rdis:"; use postgres://'],
    [`mongodb://user:${SECRET}@host/db`, `unknown scheme "mongodb:"; ${UNKNOWN}`],
    ['http://localhost:26379', 'unknown scheme "http:"'],
    ['kuberntes://default/pods', 'unknown scheme "kuberntes:"'],
    [SECRET, `the URL has no scheme; ${UNKNOWN}`],
    ['localhost:26379', 'the URL has no scheme'],
    [`user:${SECRET}@host/db`, 'the URL has no scheme'],
    [`postgres//user:${SECRET}@host/db`, 'the URL has no scheme'],
    [`postgres:/user:${SECRET}@host/db`, 'the URL has no scheme'],
    ['POSTGRES://u@127.0.0.1:1/db', 'no server listens there'],
  ]
  testRefusals(schemes.map(([url, ...says]) => [`watch ${url} --table orders`, ...says]))

  const ENCODING = 'in user and password # is %23, ? is %3F, / is %2F, @ is %40, % is %25'
  const raw = ['#', '?', '/', '1#', '1?', '1/', 'a#b c', '%'].map((mark) => `u:${mark}${SECRET}@127.0.0.1:1`)
  const cut: Refusals = [
    ...raw.map((rest) => [`'postgres://${rest}/db' --table a`, ENCODING] as const),
    ...raw.map((rest) => [`'redis://${rest}' --collection a`, ENCODING] as const),
    ...raw.map((rest) => [`'etcd://${rest}' --prefix a`, ENCODING] as const),
    [`rediss://u:#${SECRET}@127.0.0.1:1/0 --collection a`, ENCODING],
    [`postgres://127.0.0.1:1/db#${SECRET} --table a`, ENCODING],
    [`redis://127.0.0.1:1?password=${SECRET} --collection a`, ENCODING],
    [`etcd://127.0.0.1:1?password=${SECRET} --prefix a`, ENCODING],
    [`nats://127.0.0.1:1?password=${SECRET} --relay a`, ENCODING],
    [`nats://user:1#${SECRET}@127.0.0.1:1 --relay a`, ENCODING],
    [`kubernetes://u:${SECRET}@h/pods`, 'invalid URL of a resource'],
    [`'redis://u:a ${SECRET}@127.0.0.1:1' --collection a`, 'redis://u:***@127.0.0.1:1:'],
    [`redis://u:a@${SECRET}@127.0.0.1:1 --collection a`, 'redis://u:***@127.0.0.1:1:'],
    [`nats://${SECRET}@127.0.0.1:1 --relay a`, 'cannot connect to nats://127.0.0.1:1:'],
    [`etcd://u:${SECRET}@127.0.0.1:1 --prefix a`, 'etcd://u:***@127.0.0.1:1:'],
    [`postgres://u:${SECRET}@127.0.0.1:1/db?password=${SECRET} --table a`, 'postgres://u:***@127.0.0.1:1/db: '],
    ['Etcd://127.0.0.1:1 --prefix a', 'no server listens there'],
    ['Redis://127.0.0.1:1 --collection a', 'no server listens there'],
  ]
  testRefusals(cut.map(([rest, ...says]) => [`watch ${rest}`, ...says]))

  testRefusals([
    [`redis://u:a#${SECRET}@h`, 'unknown command'],
    [`pg status postgres://u:1#${SECRET}@h/db`, ENCODING],
    ['query 127.0.0.1:45432/shop', 'the URL has no scheme; use postgres://'],
  ])
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
    expect(await refusalOf(listwatch(ORDERS.split(' '), { main: copy }))).toBe(
      'pg is missing; install it with: npm i pg@^8.16',
    )
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
    const child = listwatch(ORDERS.split(' '), { env: { NODE_OPTIONS: `--require=${preload}` } })
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
    const some = ['watch', 'get', 'list', 'query', 'verify', 'doctor', 'serve', 'relay', 'demo', 'pg trim']
    expect(paths.map((path) => path.join(' '))).toEqual(expect.arrayContaining(some))
    expect(paths.length).toBeGreaterThan(13)
  })

  test('names the version that package.json has', async () => {
    const { output } = await resultOf(listwatch(['--version']))
    expect(output).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

test('a closed pipe ends the command silently, and a full disk with one line', async () => {
  const closed =
    'for i in 1 2 3 4; do listwatch pg install --table orders --print | true; done; listwatch --help | true'
  expect(await resultOf(shell(closed))).toMatchObject({ errors: '', output: '' })
  const { errors } = await resultOf(shell('listwatch --help > /dev/full'))
  expect(errors).toMatch(/^listwatch: cannot write the output: ENOSPC.*\n$/)
})
