import { collect, conditions, count, list, name, wholeNumber } from '../args/parsers.js'
import { addSourceOptions } from '../args/source-options.js'
import { Argument, type Command, Option } from '../bundled.js'
import { completionScript, SHELLS, type Shell } from '../output/completion-script.js'

const POSTGRES = 'postgres://user@host:5432/database'

/** Adds all commands. The code of a command is loaded when it runs. */
export function defineCommands(program: Command): void {
  defineWatch(program)
  defineRead(program)
  defineVerify(program)
  defineDoctor(program)
  defineServe(program)
  defineRelay(program)
  definePg(program)
  defineSqlite(program)
  defineDemo(program)
  defineCompletion(program)
}

/** Adds a command. Its help ends with `notes` and the examples. */
function define(
  parent: Command,
  called: string,
  description: string,
  examples: readonly string[],
  notes?: string,
): Command {
  const help = ['Examples:', ...examples.map((each) => `  ${each}`)].join('\n')
  const after = notes === undefined ? help : `${notes}\n\n${help}`
  return parent.command(called).description(description).addHelpText('after', `\n${after}`)
}

function defineWatch(program: Command): void {
  const watch = define(
    program,
    'watch',
    'mirror a table, a collection, keys or a resource: a live view on a terminal, NDJSON with --json',
    [
      'listwatch watch postgres://user@host/db --table orders --index tenant --fields status,total',
      'listwatch watch postgres://user@host/db --table orders --table customers --json',
      'listwatch watch etcd://localhost:2379 --prefix /jobs/ --json | jq .key',
      'listwatch watch redis://localhost --collection orders',
      'listwatch watch app.db --table orders',
      "listwatch watch 'kubernetes://*/pods' -l app=web --fields status.phase",
    ],
    `Several --table of Postgres or MySQL, or several --prefix of etcd, are mirrored together: the changes of one transaction are
printed together, each with its table or prefix. Other options apply to each of them.`,
  )
  addSourceOptions(watch)
    .option('--index <column>', 'index by this column; may be given more than once', collect, [])
    .addOption(
      new Option('--fields <names>', 'on a terminal: show these fields of each changed object: status,spec.replicas')
        .argParser(list)
        .conflicts('json'),
    )
    .option('--json', 'one line of JSON for each change')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m')
    .action(async (url: string, flags, command) => (await import('./watch.js')).watch(url, flags, command))
}

/** The commands `get`, `list` and `query`, which read a source once. */
function defineRead(program: Command): void {
  const get = define(program, 'get', 'print one object; exit code 1 if there is none with this key', [
    'listwatch get postgres://user@host/db --table orders 42',
    'listwatch get kubernetes://default/pods default/web-0 --fields status.phase,spec.nodeName',
  ])
  addOutput(addSourceOptions(get).argument('<key>', 'the key of the object')).action(
    async (url: string, key: string, flags, command) => (await import('./read.js')).get(url, key, flags, command),
  )
  const all = define(program, 'list', 'print all objects: a table on a terminal, NDJSON in a pipe', [
    'listwatch list etcd://localhost:2379 --prefix /jobs/',
    `listwatch list postgres://user@host/db --table orders --sql "status = 'open'" --fields tenant,total`,
    "listwatch list redis://localhost:6379 --keys 'user:*' | jq .key",
  ])
  addLimit(addOutput(addSourceOptions(all))).action(async (url: string, flags, command) =>
    (await import('./read.js')).list(url, flags, command),
  )
  const query = define(
    program,
    'query',
    'print the objects that have these values in their fields',
    [
      'listwatch query postgres://user@host/db --table orders --where tenant=acme --where status!=done',
      'listwatch query kubernetes://*/pods --where status.phase=Pending --fields spec.nodeName',
    ],
    `An element of an array counts as a value of its field. A field without a value is equal to nothing.`,
  )
  addLimit(addOutput(addSourceOptions(query)))
    .requiredOption(
      '--where <field=value>',
      'only objects with this value, or with != another one; if given more than once, all must hold',
      conditions,
    )
    .action(async (url: string, flags, command) => (await import('./read.js')).query(url, flags, command))
}

function addOutput(command: Command): Command {
  return command
    .option('--fields <names>', 'only these fields, separated by commas: status,spec.replicas', list)
    .option('--json', 'one line of JSON for each object, also on a terminal')
}

function addLimit(command: Command): Command {
  return command.option('--limit <number>', 'print at most this many objects', count)
}

function defineVerify(program: Command): void {
  const verify = define(
    program,
    'verify',
    'mirror a source, list it again, and compare both object by object; exit code 1 if any differs',
    [
      'listwatch verify postgres://user@host/db --table orders',
      'listwatch verify etcd://localhost:2379 --prefix /jobs/ --for 10m --json',
      'listwatch verify kubernetes://default/pods -l app=web --for 1m --limit 100',
      "listwatch verify postgres://user@host/db --table orders --against 'http://127.0.0.1:40123/#token=…'",
    ],
    `Exit code 0: no object differs. 1: at least one differs. 2: a mistake in the command line, or the source cannot be
read. 130: interrupted before the comparison was complete.`,
  )
  addSourceOptions(verify)
    .addOption(
      new Option(
        '--for <duration>',
        'follow the source this long before the comparison: 20s, 10m; default: 10s',
      ).conflicts('against'),
    )
    .option(
      '--against <address>',
      'compare the mirror of a running program: the address that its inspector prints',
      name,
    )
    .option('--informer <name>', 'with --against: the informer, if the inspector shows several', name)
    .option('--keys-only', 'with --against: compare keys, and not contents, which schema or transform may change')
    .option('--limit <number>', 'name at most this many differing keys; default: 10', count)
    .option('--json', 'the result as one line of JSON')
    .action(async (url: string, flags, command) => (await import('./verify.js')).verify(url, flags, command))
}

function defineDoctor(program: Command): void {
  const doctor = define(
    program,
    'doctor',
    'check a source for what can be wrong with it; it reads only. Exit code 1 if there is an error',
    [
      'listwatch doctor postgres://user@host/db --table orders',
      "listwatch doctor redis://localhost:6379 --keys 'user:*' --json",
    ],
    `Each finding has a name, a severity, one sentence, and the command or the option that repairs it. docs/how-to/doctor.md explains
all checks. Exit code 0: no error; there may be warnings. 1: an error. 2: a mistake in the command line, or no connection.`,
  )
  addSourceOptions(doctor)
    .option('--json', 'the result as one line of JSON')
    .action(async (url: string, flags, command) => (await import('./doctor.js')).doctor(url, flags, command))
}

function defineServe(program: Command): void {
  const serve = define(
    program,
    'serve',
    'mirror sources, and serve a page that shows their objects and changes',
    [
      'listwatch serve postgres://user@host/db --table orders --index tenant --index status',
      'listwatch serve etcd://localhost:2379 --prefix /jobs/ --port 8080',
      'listwatch serve kubernetes://default/pods --index spec.nodeName',
      'listwatch serve --config listwatch.config.ts',
    ],
    `The page can only be opened on this machine, by the printed address. It works during the first list. Without a URL it
shows all sources of the configuration file: docs/reference/cli.md.`,
  )
  addSourceOptions(serve, { argument: '[url]' })
    .option('--index <column>', 'index by this column; may be given more than once', collect, [])
    .option('--port <number>', 'the TCP port of the page; default: a free one', wholeNumber(0, 65_535))
    .option('--show-secrets', 'show the values of Kubernetes Secrets')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m; default: until Ctrl-C')
    .action(async (url: string | undefined, flags, command) => (await import('./serve.js')).serve(url, flags, command))
}

function defineRelay(program: Command): void {
  const relay = define(
    program,
    'relay',
    'mirror a source, and publish it to an engine for any number of followers',
    [
      'listwatch relay postgres://user@host/db --table orders --to redis://cache:6379',
      'listwatch relay etcd://localhost:2379 --prefix /jobs/ --to redis://cache:6379 --as jobs',
      'listwatch relay kubernetes://default/pods -l app=web --to rediss://cache:6380 --as pods',
      'listwatch watch redis://cache:6379 --relay orders',
      'listwatch relay etcd://localhost:2379 --prefix /jobs/ --to nats://nats-0:4222 --as jobs',
      'listwatch list nats://nats-0:4222 --relay jobs',
    ],
    `Run the command on several machines: one relay writes, and the others wait to replace it. A relay that starts again
continues from what the engine has. Ctrl-C first writes the changes that wait, for up to 5 s. On a terminal it shows its
status; in a pipe it prints each change of its status as one line of JSON.`,
  )
  addSourceOptions(relay)
    .requiredOption('--to <url>', 'the engine: redis://host:6379, nats://host:4222 (rediss://, tls:// with TLS)', name)
    .option('--as <name>', 'the name of the relay in the engine; default: that of the table, prefix or resource', name)
    .option('--retention <batches>', 'Redis: how many batches followers may be behind; default: 10000', count)
    .option('--show-secrets', 'publish Kubernetes Secrets, too')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m; default: until Ctrl-C')
    .action(async (url: string, flags, command) => (await import('./relay.js')).relay(url, flags, command))
}

function definePg(program: Command): void {
  const pg = program.command('pg').description('manage the change logs that a mirror of Postgres needs')
  define(pg, 'install', 'create or replace the change log of a table and the triggers that write it', [
    'listwatch pg install postgres://owner@host/db --table orders --grant app',
    'listwatch pg install --table sales.orders --key tenant,number --print > migration.sql',
  ])
    .argument('[url]', POSTGRES)
    .requiredOption('--table <name>', 'the table, as in SQL', name)
    .option(
      '--key <columns>',
      'columns of a unique index without NULLs, separated by commas; default: the primary key',
      list,
    )
    .addOption(new Option('--level <level>', 'triggers fire for each …').choices(['auto', 'statement', 'row']))
    .addOption(
      new Option('--wake <wake>', 'which transactions wake readers').choices(['auto', 'bucket', 'each', 'none']),
    )
    .option(
      '--bulk <rows>',
      'after a statement that changes more rows, readers list the table again; default 100000',
      wholeNumber(1, 2 ** 31 - 1),
    )
    .option('--grant <role>', 'let this role mirror the table; may be given more than once', collect)
    .option('--print', 'print the SQL and do nothing')
    .action(async (url: string | undefined, flags) => (await import('./pg.js')).pgInstall(url, flags))
  define(
    pg,
    'install-leases',
    'create or update the tables and functions of leases, for controllers on several replicas',
    [
      'listwatch pg install-leases postgres://owner@host/db --grant app --group orders',
      'listwatch pg install-leases --print > migration.sql',
    ],
  )
    .argument('[url]', POSTGRES)
    .option('--grant <role>', 'let this role use the groups of --group; may be given more than once', collect)
    .option('--group <name>', 'a lease group that the roles of --grant may use; may be given more than once', collect)
    .option('--print', 'print the SQL and do nothing')
    .action(async (url: string | undefined, flags) => (await import('./pg.js')).pgInstallLeases(url, flags))
  define(pg, 'uninstall', 'remove the change log of a table, or everything', [
    'listwatch pg uninstall postgres://owner@host/db --table orders',
    'listwatch pg uninstall --all --print > migration.sql',
  ])
    .argument('[url]', POSTGRES)
    .option('--table <name>', 'the table, as in SQL', name)
    .option('--all', 'all tables, and the schema listwatch')
    .option('--print', 'print the SQL and do nothing')
    .action(async (url: string | undefined, flags) => (await import('./pg.js')).pgUninstall(url, flags))
  define(pg, 'status', 'show the installed change logs; exit code 1 if there are warnings', [
    'listwatch pg status postgres://user@host/db',
    'listwatch pg status postgres://user@host/db --json | jq .tables',
  ])
    .argument('<url>', POSTGRES)
    .option('--json', 'as JSON')
    .action(async (url: string, flags) => (await import('./pg.js')).pgStatus(url, flags))
  define(pg, 'trim', 'remove old rows from all logs; connected mirrors do this by themselves', [
    'listwatch pg trim postgres://owner@host/db --keep 10m',
  ])
    .argument('<url>', POSTGRES)
    .option('--keep <duration>', 'keep rows that are younger than this; default 1h')
    .action(async (url: string, flags) => (await import('./pg.js')).pgTrim(url, flags))
}

function defineSqlite(program: Command): void {
  const sqlite = program.command('sqlite').description('manage the change log that a mirror of a SQLite file needs')
  define(sqlite, 'install', 'create or replace the change log of a table and the triggers that write it', [
    'listwatch sqlite install app.db --table orders',
    'listwatch sqlite install app.db --table sales --key tenant,number --print > migration.sql',
  ])
    .argument('<file>', 'app.db')
    .requiredOption('--table <name>', 'the table', name)
    .option('--key <columns>', 'columns of a unique index, separated by commas; default: the primary key', list)
    .option('--keep-rows <rows>', 'rows that the log of the file keeps; default 1000000', count)
    .option('--print', 'print the SQL that fits the table, and do nothing')
    .action(async (file: string, flags) => (await import('./sqlite.js')).sqliteInstall(file, flags))
  define(sqlite, 'status', 'show the change log and its tables; exit code 1 if there are problems', [
    'listwatch sqlite status app.db',
    'listwatch sqlite status app.db --json | jq .tables',
  ])
    .argument('<file>', 'app.db')
    .option('--json', 'as JSON')
    .action(async (file: string, flags) => (await import('./sqlite.js')).sqliteStatus(file, flags))
  define(sqlite, 'uninstall', 'remove the triggers of a table, or everything', [
    'listwatch sqlite uninstall app.db --table orders',
    'listwatch sqlite uninstall app.db --all --print > migration.sql',
  ])
    .argument('<file>', 'app.db')
    .option('--table <name>', 'the table', name)
    .option('--all', 'all tables, and the change log')
    .option('--print', 'print the SQL and do nothing')
    .action(async (file: string, flags) => (await import('./sqlite.js')).sqliteUninstall(file, flags))
  define(sqlite, 'epoch', 'begin another epoch after a restore: mirrors list again, and waits for lost writes reject', [
    'listwatch sqlite epoch app.db',
  ])
    .argument('<file>', 'app.db')
    .action(async (file: string) => (await import('./sqlite.js')).sqliteEpoch(file))
}

function defineDemo(program: Command): void {
  define(program, 'demo', 'start a database, write to a table of it, and mirror the table', [
    'listwatch demo',
    'listwatch demo --engine sqlite',
    'listwatch demo --for 20s --disconnects 3 --json',
    'listwatch demo postgres://postgres@localhost:5432/postgres',
  ])
    .argument('[url]', `your own server, on which a new database is created: ${POSTGRES}`)
    .option('--for <duration>', 'stop after this time: 20s, 10m; default: until q or Ctrl-C')
    .addOption(
      new Option('--engine <name>', 'the database; default: postgres, and sqlite if no Postgres can be had').choices([
        'postgres',
        'sqlite',
      ]),
    )
    .option(
      '--disconnects <count>',
      "kill the mirror's connection, or the writer of sqlite, this many times",
      wholeNumber(0),
    )
    .option('--no-inspect', 'do not serve the page of the inspector')
    .option('--json', 'print only the result, as JSON')
    .action(async (url: string | undefined, flags) => (await import('./demo.js')).demo(url, flags))
}

/** Called last, because it completes the commands that exist. */
function defineCompletion(program: Command): void {
  define(program, 'completion', 'print a script that completes commands and options in a shell', [
    'eval "$(listwatch completion bash)"       # in ~/.bashrc',
    'source <(listwatch completion zsh)        # in ~/.zshrc, after compinit',
    'listwatch completion fish | source        # in ~/.config/fish/config.fish',
  ])
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completionScript(program, shell)))
}
