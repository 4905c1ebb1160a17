import { name } from '../args/parsers.js'
import { addSourceOptions } from '../args/source-options.js'
import type { Command } from '../bundled.js'

/** Adds the command `relay`. */
export function defineRelay(program: Command): void {
  const relay = program
    .command('relay')
    .description('mirror a source, and publish it to an engine for any number of followers')
  addSourceOptions(relay)
    .requiredOption('--to <url>', 'the engine: redis://host:6379, nats://host:4222 (rediss://, tls:// with TLS)', name)
    .option('--as <name>', 'the name of the relay in the engine; default: that of the table, prefix or resource', name)
    .option('--retention <batches>', 'Redis: how many batches followers may be behind; default: 10000', Number)
    .option('--show-secrets', 'publish Kubernetes Secrets, too')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m; default: until Ctrl-C')
    .addHelpText(
      'after',
      `
Run the command on several machines: one relay writes, and the others wait to replace it. A relay that starts again
continues from what the engine has. Ctrl-C first writes the changes that wait, for up to 5 s. On a terminal it shows its
status; in a pipe it prints each change of its status as one line of JSON.

Examples:
  listwatch relay postgres://user@host/db --table orders --to redis://cache:6379
  listwatch relay etcd://localhost:2379 --prefix /jobs/ --to redis://cache:6379 --as jobs
  listwatch relay kubernetes://default/pods -l app=web --to rediss://cache:6380 --as pods
  listwatch watch redis://cache:6379 --relay orders
  listwatch relay etcd://localhost:2379 --prefix /jobs/ --to nats://nats-0:4222 --as jobs
  listwatch list nats://nats-0:4222 --relay jobs`,
    )
    .action(async (url: string, flags, command) => (await import('./relay.js')).relay(url, flags, command))
}
