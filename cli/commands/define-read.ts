import { conditions, count, list } from '../args/parsers.js'
import { addSourceOptions } from '../args/source-options.js'
import type { Command } from '../bundled.js'

/** Adds the commands `get`, `list` and `query`, which read a source once. */
export function defineRead(program: Command): void {
  const get = program.command('get').description('print one object; exit code 1 if there is none with this key')
  addOutput(addSourceOptions(get).argument('<key>', 'the key of the object'))
    .addHelpText(
      'after',
      `
Examples:
  listwatch get postgres://user@host/db --table orders 42
  listwatch get kubernetes://default/pods default/web-0 --fields status.phase,spec.nodeName`,
    )
    .action(async (url: string, key: string, flags, command) =>
      (await import('./read.js')).get(url, key, flags, command),
    )
  const all = program.command('list').description('print all objects: a table on a terminal, NDJSON in a pipe')
  addLimit(addOutput(addSourceOptions(all)))
    .addHelpText(
      'after',
      `
Examples:
  listwatch list etcd://localhost:2379 --prefix /jobs/
  listwatch list postgres://user@host/db --table orders --sql "status = 'open'" --fields tenant,total
  listwatch list redis://localhost:6379 --keys 'user:*' | jq .key`,
    )
    .action(async (url: string, flags, command) => (await import('./read.js')).list(url, flags, command))
  const query = program.command('query').description('print the objects that have these values in their fields')
  addLimit(addOutput(addSourceOptions(query)))
    .requiredOption(
      '--where <field=value>',
      'only objects with this value, or with != another one; if given more than once, all must hold',
      conditions,
    )
    .addHelpText(
      'after',
      `
An element of an array counts as a value of its field. A field without a value is equal to nothing.

Examples:
  listwatch query postgres://user@host/db --table orders --where tenant=acme --where status!=done
  listwatch query kubernetes://*/pods --where status.phase=Pending --fields spec.nodeName`,
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
