import { count, name } from '../args/parsers.js'
import { addSourceOptions } from '../args/source-options.js'
import { type Command, Option } from '../bundled.js'

/** Adds the command `verify`. */
export function defineVerify(program: Command): void {
  const verify = program
    .command('verify')
    .description('mirror a source, list it again, and compare both object by object; exit code 1 if any differs')
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
    .addHelpText(
      'after',
      `
Exit code 0: no object differs. 1: at least one differs. 2: a mistake in the command line, or the source cannot be
read. 130: interrupted before the comparison was complete.

Examples:
  listwatch verify postgres://user@host/db --table orders
  listwatch verify etcd://localhost:2379 --prefix /jobs/ --for 10m --json
  listwatch verify kubernetes://default/pods -l app=web --for 1m --limit 100
  listwatch verify postgres://user@host/db --table orders --against 'http://127.0.0.1:40123/#token=…'`,
    )
    .action(async (url: string, flags, command) => (await import('./verify.js')).verify(url, flags, command))
}
