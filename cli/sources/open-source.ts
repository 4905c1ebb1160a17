import { withPlainScheme } from '../args/server-url.js'
import { sourceKindOf } from '../args/source-kinds.js'
import type { Command } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import type { EtcdFlags } from './open-etcd.js'
import type { KubernetesFlags } from './open-kubernetes.js'
import type { NatsFlags } from './open-nats.js'
import type { PostgresFlags } from './open-postgres.js'
import type { RedisFlags } from './open-redis.js'
import type { SqliteFlags } from './open-sqlite.js'
import type { OpenSource } from './source-types.js'

/** The options that name a source. `sourceKindOf` rejects those of another kind. */
export type SourceFlags = Partial<PostgresFlags> &
  Partial<SqliteFlags> &
  Partial<EtcdFlags> &
  RedisFlags &
  NatsFlags &
  KubernetesFlags

/** Opens the source that the URL and the options name. `command` reports a missing option. */
export async function openSource(given: string, flags: SourceFlags, command: Command): Promise<OpenSource> {
  const url = withPlainScheme(given)
  const { prefix, table } = flags
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
  }
}
