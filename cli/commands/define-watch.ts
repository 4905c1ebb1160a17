import { collect, list, name } from '../args/parsers.js'
import { withPlainScheme } from '../args/server-url.js'
import { sourceKindOf } from '../args/source-kinds.js'
import { type Command, Option } from '../bundled.js'
import { CliError } from '../output/cli-error.js'

/** Adds the command `watch`. */
export function defineWatch(program: Command): void {
  program
    .command('watch')
    .description('mirror a table, a collection, keys or a resource: a live view on a terminal, NDJSON with --json')
    .argument(
      '<url>',
      'postgres://user@host:5432/database, etcd://host:2379, redis://host:6379 (etcds://, rediss:// with TLS), or kubernetes://namespace/resource',
    )
    .option('--table <name>', 'Postgres: the table, as in SQL: orders, shop.orders, "Orders"', name)
    .option('--prefix <prefix>', 'etcd: the first characters of the keys: /jobs/', name)
    .addOption(
      new Option('--codec <codec>', 'etcd, Redis: the format of the values; default: json').choices([
        'json',
        'string',
        'bytes',
      ]),
    )
    .option('-l, --selector <labels>', 'Kubernetes: only objects with these labels: app=web,tier!=cache', name)
    .option('--field-selector <fields>', 'Kubernetes: only objects with these fields: status.phase=Running', name)
    .option('--context <name>', 'Kubernetes: this context of the kubeconfig, not the current one', name)
    .option('--metadata-only', 'Kubernetes: only the metadata of each object')
    .option('--collection <name>', 'Redis: a collection that a redisWriter writes', name)
    .option('--stream <key>', 'Redis: a stream', name)
    .option('--key <field>', 'with --stream: the field with the key of the object (default: id)', name)
    .option('--fold', 'with --stream: mirror the remaining entries if others were trimmed')
    .option('--keys <pattern>', 'Redis: the plain keys with this prefix: "user:*"', name)
    .option('--cluster', 'Redis: the server is a node of a cluster')
    .option('--index <column>', 'index by this column; may be given more than once', collect, [])
    .option('--columns <names>', 'mirror only these columns, separated by commas; the key always is', list)
    .option('--where <sql>', 'mirror only rows that meet this condition; it must depend on nothing but the row', name)
    .addOption(
      new Option('--rls <kind>', 'mirror although row security applies: no policy reads other rows').choices([
        'row-local',
      ]),
    )
    .addOption(
      new Option('--fields <names>', 'on a terminal: show these fields of each changed object: status,spec.replicas')
        .argParser(list)
        .conflicts('json'),
    )
    .option('--json', 'one line of JSON for each change')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m')
    .action(async (given: string, flags, command) => {
      const url = withPlainScheme(given)
      switch (sourceKindOf(url, flags)) {
        case 'kubernetes':
          return (await import('./watch-kubernetes.js')).watchKubernetes(url, flags)
        case 'redis':
          return (await import('./watch-redis.js')).watchRedis(url, flags)
        case 'etcd':
          if (flags.prefix === undefined) throw new CliError('--prefix is missing: etcd://host:2379 --prefix /jobs/')
          return (await import('./watch-etcd.js')).watchEtcd(url, flags)
        case 'postgres':
          if (flags.table === undefined) return command.error("error: required option '--table <name>' not specified")
          return (await import('./watch-postgres.js')).watchPostgres(url, flags)
      }
    })
}
