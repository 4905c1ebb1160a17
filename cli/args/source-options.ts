import { type Command, Option } from '../bundled.js'
import { collect, list, name, once } from './parsers.js'

export function addSourceOptions(
  command: Command,
  { argument = '<url>' }: { readonly argument?: '<url>' | '[url]' } = {},
): Command {
  return command
    .argument(
      argument,
      'postgres://user@host:5432/database, mysql://user@host:3306/database, etcd://host:2379, redis://host:6379, nats://host:4222 (etcds://, rediss://, tls:// with TLS; mariadb:// is mysql://), kubernetes://namespace/resource, app.db for SQLite, or @name of a source in the configuration file',
    )
    .option(
      '--config <file>',
      'the configuration file with named sources; default: listwatch.config.ts, .js or .json',
      name,
    )
    .option(
      '--table <name>',
      'Postgres, MySQL, SQLite: the table; for Postgres as in SQL: orders, shop.orders, "Orders"; several for watch and serve',
      collect,
    )
    .option(
      '--columns <names>',
      'Postgres, MySQL, SQLite: only these columns, separated by commas; the key always is one',
      list,
    )
    .option(
      '--sql <condition>',
      'Postgres, MySQL, SQLite: only rows that meet this condition; it must depend on nothing but the row',
      name,
    )
    .addOption(
      new Option(
        '--rls <kind>',
        'Postgres: continue although row security applies: no policy reads other rows',
      ).choices(['row-local']),
    )
    .option('--prefix <prefix>', 'etcd: the first characters of the keys: /jobs/; several for watch and serve', collect)
    .addOption(
      new Option('--codec <codec>', 'etcd, Redis, NATS: the format of the values; default: json').choices([
        'json',
        'string',
        'bytes',
      ]),
    )
    .option('--collection <name>', 'Redis: a collection that a redisWriter writes', once)
    .option('--bucket <name>', 'NATS: a key-value bucket', once)
    .option('--subjects <subjects>', 'NATS: only these keys, as subjects separated by commas: jobs.*,batches.>', list)
    .option('--relay <name>', 'Redis, NATS: the objects that a relay publishes', once)
    .option('--stream <key>', 'Redis: a stream', once)
    .option('--key <field>', 'with --stream: the field with the key of the object (default: id)', name)
    .option('--fold', 'with --stream: mirror the remaining entries if others were trimmed')
    .option('--keys <pattern>', 'Redis: the plain keys with this prefix: "user:*"', once)
    .option('--cluster', 'Redis: the server is a node of a cluster')
    .option('-l, --selector <labels>', 'Kubernetes: only objects with these labels: app=web,tier!=cache', name)
    .option('--field-selector <fields>', 'Kubernetes: only objects with these fields: status.phase=Running', name)
    .option('--context <name>', 'Kubernetes: this context of the kubeconfig, not the current one', name)
    .option('--metadata-only', 'Kubernetes: only the metadata of each object')
}
