import { onlyOne, TOGETHER } from '../args/parsers.js'
import { withPlainScheme } from '../args/server-url.js'
import { sourceKindOf } from '../args/source-kinds.js'
import type { Command } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import type { EtcdFlags } from './open-etcd.js'
import type { KubernetesFlags } from './open-kubernetes.js'
import type { MysqlFlags } from './open-mysql.js'
import type { NatsFlags } from './open-nats.js'
import type { PostgresFlags } from './open-postgres.js'
import type { RedisFlags } from './open-redis.js'
import type { SqliteFlags } from './open-sqlite.js'
import type { OpenSource } from './source-types.js'

/** The options that name a source. `sourceKindOf` rejects those of another kind. */
export type SourceFlags = Omit<PostgresFlags, 'table'> &
  Omit<MysqlFlags | SqliteFlags, 'table'> &
  Omit<EtcdFlags, 'prefix'> &
  RedisFlags &
  NatsFlags &
  KubernetesFlags & {
    readonly table?: readonly string[]
    readonly prefix?: readonly string[]
  }

/** Opens the source that the URL and the options name. `command` reports a missing option. */
export async function openSource(given: string, flags: SourceFlags, command: Command): Promise<OpenSource> {
  const url = withPlainScheme(given)
  const [table, prefix] = [onlyOne('--table', flags.table), onlyOne('--prefix', flags.prefix)]
  switch (sourceKindOf(url, { ...flags })) {
    case 'kubernetes':
      return (await import('./open-kubernetes.js')).openKubernetes(url, flags)
    case 'redis':
      return (await import('./open-redis.js')).openRedis(url, flags)
    case 'nats':
      return (await import('./open-nats.js')).openNats(url, flags)
    case 'etcd':
      if (prefix === undefined) throw new CliError('--prefix is missing: etcd://host:2379 --prefix /jobs/')
      return (await import('./open-etcd.js')).openEtcd(url, { ...flags, prefix })
    case 'postgres':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('./open-postgres.js')).openPostgres(url, { ...flags, table })
    case 'sqlite':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('./open-sqlite.js')).openSqlite(url, { ...flags, table })
    case 'mysql':
      if (table === undefined) return command.error("error: required option '--table <name>' not specified")
      return (await import('./open-mysql.js')).openMysql(url, { ...flags, table })
  }
}

/** The same for `watch` and `serve`, which mirror several collections with a common history. */
export async function openSources(given: string, flags: SourceFlags, command: Command): Promise<readonly OpenSource[]> {
  const { table = [], prefix = [] } = flags
  const names = [...table, ...prefix]
  if (names.length < 2) return [await openSource(given, flags, command)]
  const url = withPlainScheme(given)
  const kind = sourceKindOf(url, { ...flags })
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new CliError(`"${twice}" is given twice`)
  if (kind === 'postgres') return (await import('./open-postgres.js')).openTables(url, table, flags)
  if (kind === 'mysql') return (await import('./open-mysql.js')).openTables(url, table, flags)
  if (kind === 'etcd') return (await import('./open-etcd.js')).openPrefixes(url, prefix, flags)
  throw new CliError(
    `tables of SQLite have no common history: give one --table; watch and serve mirror together ${TOGETHER}`,
  )
}
