import { count, list, name } from '../args/parsers.js'
import type { Command } from '../bundled.js'

/** Adds the command `sqlite` with its subcommands. */
export function defineSqlite(program: Command): void {
  const sqlite = program.command('sqlite').description('manage the change log that a mirror of a SQLite file needs')
  sqlite
    .command('install')
    .description('create or replace the change log of a table and the triggers that write it')
    .argument('<file>', 'app.db')
    .requiredOption('--table <name>', 'the table', name)
    .option('--key <columns>', 'columns of a unique index, separated by commas; default: the primary key', list)
    .option('--keep-rows <rows>', 'rows that the log of the file keeps; default 1000000', count)
    .option('--print', 'print the SQL that fits the table, and do nothing')
    .addHelpText(
      'after',
      `
Examples:
  listwatch sqlite install app.db --table orders
  listwatch sqlite install app.db --table sales --key tenant,number --print > migration.sql`,
    )
    .action(async (file: string, flags) => (await import('./sqlite.js')).sqliteInstall(file, flags))
  sqlite
    .command('status')
    .description('show the change log and its tables; exit code 1 if there are problems')
    .argument('<file>', 'app.db')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Examples:
  listwatch sqlite status app.db
  listwatch sqlite status app.db --json | jq .tables`,
    )
    .action(async (file: string, flags) => (await import('./sqlite.js')).sqliteStatus(file, flags))
  sqlite
    .command('uninstall')
    .description('remove the triggers of a table, or everything')
    .argument('<file>', 'app.db')
    .option('--table <name>', 'the table', name)
    .option('--all', 'all tables, and the change log')
    .option('--print', 'print the SQL and do nothing')
    .addHelpText(
      'after',
      `
Examples:
  listwatch sqlite uninstall app.db --table orders
  listwatch sqlite uninstall app.db --all --print > migration.sql`,
    )
    .action(async (file: string, flags) => (await import('./sqlite.js')).sqliteUninstall(file, flags))
  sqlite
    .command('epoch')
    .description('begin another epoch after a restore: mirrors list again, and waits for lost writes reject')
    .argument('<file>', 'app.db')
    .addHelpText(
      'after',
      `
Examples:
  listwatch sqlite epoch app.db`,
    )
    .action(async (file: string) => (await import('./sqlite.js')).sqliteEpoch(file))
}
