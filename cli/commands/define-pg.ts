import { collect, list, name } from '../args/parsers.js'
import { type Command, Option } from '../bundled.js'

/** Adds the command `pg` with its subcommands. */
export function definePg(program: Command): void {
  const pg = program.command('pg').description('manage the change logs that a mirror of Postgres needs')
  pg.command('install')
    .description('create or replace the change log of a table and the triggers that write it')
    .argument('[url]', 'postgres://user@host:5432/database')
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
    .option('--bulk <rows>', 'after a statement that changes more rows, readers list the table again; default 100000')
    .option('--grant <role>', 'let this role mirror the table; may be given more than once', collect)
    .option('--print', 'print the SQL and do nothing')
    .addHelpText(
      'after',
      `
Examples:
  listwatch pg install postgres://owner@host/db --table orders --grant app
  listwatch pg install --table sales.orders --key tenant,number --print > migration.sql`,
    )
    .action(async (url: string | undefined, flags) => (await import('./pg.js')).pgInstall(url, flags))
  pg.command('install-leases')
    .description('create or update the tables and functions of leases, for controllers on several replicas')
    .argument('[url]', 'postgres://user@host:5432/database')
    .option('--grant <role>', 'let this role use the groups of --group; may be given more than once', collect)
    .option('--group <name>', 'a lease group that the roles of --grant may use; may be given more than once', collect)
    .option('--print', 'print the SQL and do nothing')
    .addHelpText(
      'after',
      `
Examples:
  listwatch pg install-leases postgres://owner@host/db --grant app --group orders
  listwatch pg install-leases --print > migration.sql`,
    )
    .action(async (url: string | undefined, flags) => (await import('./pg.js')).pgInstallLeases(url, flags))
  pg.command('uninstall')
    .description('remove the change log of a table, or everything')
    .argument('[url]', 'postgres://user@host:5432/database')
    .option('--table <name>', 'the table, as in SQL', name)
    .option('--all', 'all tables, and the schema listwatch')
    .option('--print', 'print the SQL and do nothing')
    .addHelpText(
      'after',
      `
Examples:
  listwatch pg uninstall postgres://owner@host/db --table orders
  listwatch pg uninstall --all --print > migration.sql`,
    )
    .action(async (url: string | undefined, flags) => (await import('./pg.js')).pgUninstall(url, flags))
  pg.command('status')
    .description('show the installed change logs; exit code 1 if there are warnings')
    .argument('<url>', 'postgres://user@host:5432/database')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Examples:
  listwatch pg status postgres://user@host/db
  listwatch pg status postgres://user@host/db --json | jq .tables`,
    )
    .action(async (url: string, flags) => (await import('./pg.js')).pgStatus(url, flags))
  pg.command('trim')
    .description('remove old rows from all logs; connected mirrors do this by themselves')
    .argument('<url>', 'postgres://user@host:5432/database')
    .option('--keep <duration>', 'keep rows that are younger than this; default 1h')
    .addHelpText(
      'after',
      `
Examples:
  listwatch pg trim postgres://owner@host/db --keep 10m`,
    )
    .action(async (url: string, flags) => (await import('./pg.js')).pgTrim(url, flags))
}
