import { onlyOne, TOGETHER } from '../args/parsers.js'
import { withPlainScheme } from '../args/server-url.js'
import { collectionNoun, type SourceKind, sourceKindOf } from '../args/source-kinds.js'
import type { Command } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import type { OpenSource, PrefixFlags, SourceOptions, TableFlags } from './source-types.js'

/** The options that name a source. `watch` and `serve` take several tables or prefixes. */
export interface SourceFlags extends SourceOptions {
  readonly table?: readonly string[]
  readonly prefix?: readonly string[]
}

interface Target {
  readonly kind: SourceKind
  readonly url: string
  readonly options: TableFlags & PrefixFlags
}

/** What the URL and the options name. `command` reports a missing option. */
export function targetOf(given: string, flags: SourceFlags, command: Command): Target {
  const url = withPlainScheme(given)
  const [table, prefix] = [onlyOne('--table', flags.table), onlyOne('--prefix', flags.prefix)]
  const kind = sourceKindOf(url, { ...flags })
  if (kind === 'etcd' && prefix === undefined)
    throw new CliError('--prefix is missing: etcd://host:2379 --prefix /jobs/')
  if (collectionNoun(kind) === 'table' && table === undefined)
    command.error("error: required option '--table <name>' not specified")
  return { kind, url, options: { ...flags, table: table ?? '', prefix: prefix ?? '' } }
}

const OPENERS = {
  kubernetes: async () => (await import('./open-kubernetes.js')).openKubernetes,
  redis: async () => (await import('./open-redis.js')).openRedis,
  nats: async () => (await import('./open-nats.js')).openNats,
  etcd: async () => (await import('./open-etcd.js')).openEtcd,
  postgres: async () => (await import('./open-postgres.js')).openPostgres,
  sqlite: async () => (await import('./open-sqlite.js')).openSqlite,
  mysql: async () => (await import('./open-mysql.js')).openMysql,
}

export async function openSource(given: string, flags: SourceFlags, command: Command): Promise<OpenSource> {
  const { kind, url, options } = targetOf(given, flags, command)
  return await (await OPENERS[kind]())(url, options)
}

/** The same for `watch` and `serve`, which mirror several collections with a common history. */
export async function openSources(
  given: string,
  flags: SourceFlags,
  command: Command,
): Promise<readonly OpenSource[] & Disposable> {
  const opened = await openAll(given, flags, command)
  const dispose = (): void => {
    for (const open of opened) open[Symbol.dispose]()
  }
  return Object.assign(opened, { [Symbol.dispose]: dispose })
}

async function openAll(given: string, flags: SourceFlags, command: Command): Promise<readonly OpenSource[]> {
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
