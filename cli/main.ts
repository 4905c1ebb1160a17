import { readFileSync } from 'node:fs'
import { SourceError } from '../src/contract/errors.js'
import { withPlainScheme } from './args/server-url.js'
import { sourceKindOf } from './args/source-kinds.js'
import { Command, CommanderError, InvalidArgumentError, Option } from './bundled.js'
import { CliError } from './output/cli-error.js'
import { oneLine } from './output/error-hints.js'

/** What went wrong, in one line; 2 for what the user can mend. */
function fail(error: unknown): void {
  const isExpected = error instanceof CliError || error instanceof SourceError || error instanceof TypeError
  process.stderr.write(`listwatch: ${oneLine(error)}\n`)
  if (!isExpected && process.env['LISTWATCH_DEBUG'] !== undefined) console.error(error)
  process.exitCode = error instanceof CliError ? error.exitCode : isExpected ? 2 : 1
}

async function main(): Promise<void> {
  // Whoever read our output has gone. What runs until then ends by itself: see ending.ts.
  process.stdout.on('error', (error: { readonly code?: string }) => {
    if (error.code !== 'EPIPE') throw error
  })
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string
  }
  const name = (value: string): string => {
    if (value === '') throw new InvalidArgumentError('It must not be empty.')
    return value
  }
  const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
    ...(before ?? []),
    name(value),
  ]
  const list = (value: string): readonly string[] => value.split(',').map((each) => name(each.trim()))

  const program = new Command('listwatch')
    .description('Mirrors a versioned collection into an indexed local store, and tells what changes.')
    .version(version)
    .exitOverride()

  program
    .command('watch')
    .description(
      'mirror a table, a collection, keys or a resource of yours: changes as they come on a terminal, NDJSON with --json',
    )
    .argument(
      '<url>',
      'postgres://user@host:5432/database, etcd://host:2379, redis://host:6379 (etcds://, rediss:// with TLS), or kubernetes://namespace/resource',
    )
    .option('--table <name>', 'Postgres: the table, as in SQL: orders, shop.orders, "Orders"', name)
    .option('--prefix <prefix>', 'etcd: what the keys begin with: /jobs/', name)
    .addOption(
      new Option('--codec <codec>', 'etcd, Redis: what values are; default: json').choices(['json', 'string', 'bytes']),
    )
    .option('-l, --selector <labels>', 'Kubernetes: only objects with these labels: app=web,tier!=cache', name)
    .option('--field-selector <fields>', 'Kubernetes: only objects with these fields: status.phase=Running', name)
    .option('--context <name>', 'Kubernetes: this context of the kubeconfig, not the current one', name)
    .option('--metadata-only', 'Kubernetes: nothing but the metadata of each object')
    .option('--collection <name>', 'Redis: a collection that a redisWriter writes', name)
    .option('--stream <key>', 'Redis: a stream that others write', name)
    .option('--key <field>', 'with --stream: the field that says what an entry speaks of (default: id)', name)
    .option('--fold', 'with --stream: mirror what is left where entries were trimmed')
    .option('--keys <pattern>', 'Redis: plain keys that begin so: "user:*"', name)
    .option('--cluster', 'Redis: the server is a node of a cluster')
    .option('--index <column>', 'index by this column; may be given more than once', collect, [])
    .option('--columns <names>', 'mirror only these columns, separated by commas; the key always is', list)
    .option('--where <sql>', 'mirror only rows for which this holds; it must depend on nothing but the row', name)
    .addOption(
      new Option('--rls <kind>', 'mirror in spite of row security: no policy reads other rows').choices(['row-local']),
    )
    .addOption(
      new Option('--fields <names>', 'on a terminal: show these fields of each changed object: status,spec.replicas')
        .argParser(list)
        .conflicts('json'),
    )
    .option('--json', 'one line of JSON for each change')
    .option('--for <duration>', 'stop so long after the first list: 20s, 10m')
    .action(async (given: string, flags, command) => {
      const url = withPlainScheme(given)
      switch (sourceKindOf(url, flags)) {
        case 'kubernetes':
          return (await import('./commands/watch-kubernetes.js')).watchKubernetes(url, flags)
        case 'redis':
          return (await import('./commands/watch-redis.js')).watchRedis(url, flags)
        case 'etcd':
          if (flags.prefix === undefined) throw new CliError('--prefix is missing: etcd://host:2379 --prefix /jobs/')
          return (await import('./commands/watch-etcd.js')).watchEtcd(url, flags)
        case 'postgres':
          if (flags.table === undefined) return command.error("error: required option '--table <name>' not specified")
          return (await import('./commands/watch-postgres.js')).watchPostgres(url, flags)
      }
    })

  const pg = program.command('pg').description('manage the change logs that a mirror of Postgres needs')
  pg.command('install')
    .description('make the change log of a table and the triggers that write it; again, where they are there')
    .argument('[url]', 'postgres://user@host:5432/database')
    .requiredOption('--table <name>', 'the table, as in SQL', name)
    .option(
      '--key <columns>',
      'columns of a unique index without NULLs, separated by commas; default: the primary key',
      list,
    )
    .addOption(new Option('--level <level>', 'triggers for each …').choices(['auto', 'statement', 'row']))
    .addOption(new Option('--wake <wake>', 'who wakes readers').choices(['auto', 'bucket', 'each', 'none']))
    .option('--bulk <rows>', 'a statement that changes more rows makes readers read the table again; default 100000')
    .option('--grant <role>', 'let this role mirror the table; may be given more than once', collect)
    .option('--print', 'print the SQL and do nothing')
    .action(async (url: string | undefined, flags) => (await import('./commands/pg.js')).pgInstall(url, flags))
  pg.command('uninstall')
    .description('remove the change log of a table, or everything')
    .argument('[url]', 'postgres://user@host:5432/database')
    .option('--table <name>', 'the table, as in SQL', name)
    .option('--all', 'all tables, and the schema listwatch')
    .option('--print', 'print the SQL and do nothing')
    .action(async (url: string | undefined, flags) => (await import('./commands/pg.js')).pgUninstall(url, flags))
  pg.command('status')
    .description('show what is installed; exit code 1 where something needs a look')
    .argument('<url>', 'postgres://user@host:5432/database')
    .option('--json', 'as JSON')
    .action(async (url: string, flags) => (await import('./commands/pg.js')).pgStatus(url, flags))
  pg.command('trim')
    .description('remove old rows from all logs; connected mirrors do so by themselves')
    .argument('<url>', 'postgres://user@host:5432/database')
    .option('--keep <duration>', 'keep what is younger than this; default 1h')
    .action(async (url: string, flags) => (await import('./commands/pg.js')).pgTrim(url, flags))

  program
    .command('demo')
    .description('start a Postgres, write to a table of it, and mirror the table')
    .option('--for <duration>', 'stop after this time: 20s, 10m; default: until q or Ctrl-C')
    .option('--disconnects <count>', "kill the mirror's connection so many times")
    .option('--json', 'print nothing but the outcome, as JSON')
    .action(async (flags) => (await import('./commands/demo.js')).demo(flags))

  for (const command of [program, ...program.commands, ...pg.commands]) {
    for (const option of command.options.filter(({ required }) => required)) {
      const { parseArg } = option
      option.argParser((value: string, before: unknown) => {
        const [word] = value.split('=', 1)
        if (word === '--help' || command.options.some((other) => word === other.long || value === other.short))
          command.error(`error: ${option.long} wants a value, got the option ${word}`)
        return parseArg === undefined ? value : parseArg(value, before)
      })
    }
    const path = command === program ? '' : ` ${command.parent === pg ? 'pg ' : ''}${command.name()}`
    command.configureOutput({
      outputError: (text, write) => {
        const line = oneLine(text.replace(/^error: /, '')).replace(/\.$/, '')
        write(`listwatch: ${line}; see: listwatch${path} --help\n`)
      },
    })
  }
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : 2
  }
}

main().catch(fail)
