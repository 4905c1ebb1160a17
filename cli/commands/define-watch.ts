import { collect, list } from '../args/parsers.js'
import { addSourceOptions } from '../args/source-options.js'
import { type Command, Option } from '../bundled.js'

/** Adds the command `watch`. */
export function defineWatch(program: Command): void {
  const watch = program
    .command('watch')
    .description('mirror a table, a collection, keys or a resource: a live view on a terminal, NDJSON with --json')
  addSourceOptions(watch)
    .option('--index <column>', 'index by this column; may be given more than once', collect, [])
    .addOption(
      new Option('--fields <names>', 'on a terminal: show these fields of each changed object: status,spec.replicas')
        .argParser(list)
        .conflicts('json'),
    )
    .option('--json', 'one line of JSON for each change')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m')
    .addHelpText(
      'after',
      `
Several --table of Postgres or MySQL, or several --prefix of etcd, are mirrored together: the changes of one transaction are
printed together, each with its table or prefix. Other options apply to each of them.

Examples:
  listwatch watch postgres://user@host/db --table orders --index tenant --fields status,total
  listwatch watch postgres://user@host/db --table orders --table customers --json
  listwatch watch etcd://localhost:2379 --prefix /jobs/ --json | jq .key
  listwatch watch redis://localhost --collection orders
  listwatch watch app.db --table orders
  listwatch watch 'kubernetes://*/pods' -l app=web --fields status.phase`,
    )
    .action(async (url: string, flags, command) => (await import('./watch.js')).watch(url, flags, command))
}
