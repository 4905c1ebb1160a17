import { type Command, Option } from '../bundled.js'

/** Adds the command `demo`. */
export function defineDemo(program: Command): void {
  program
    .command('demo')
    .description('start a database, write to a table of it, and mirror the table')
    .argument('[url]', 'your own server, on which a new database is created: postgres://user@host:5432/database')
    .option('--for <duration>', 'stop after this time: 20s, 10m; default: until q or Ctrl-C')
    .addOption(
      new Option('--engine <name>', 'the database; default: postgres, and sqlite if no Postgres can be had').choices([
        'postgres',
        'sqlite',
      ]),
    )
    .option('--disconnects <count>', "kill the mirror's connection, or the writer of sqlite, this many times")
    .option('--no-inspect', 'do not serve the page of the inspector')
    .option('--json', 'print only the result, as JSON')
    .addHelpText(
      'after',
      `
Examples:
  listwatch demo
  listwatch demo --engine sqlite
  listwatch demo --for 20s --disconnects 3 --json
  listwatch demo postgres://postgres@localhost:5432/postgres`,
    )
    .action(async (url: string | undefined, flags) => (await import('./demo.js')).demo(url, flags))
}
