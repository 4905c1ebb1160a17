import { filesUnder, textOf } from './sources.js'

/**
 * A table of docs/reference/options.md: its heading, the interfaces that declare the options, and a line after it. Of two
 * interfaces with one name, it has the adapter before the name.
 */
type Table = readonly [heading: string, interfaces: string, note?: string]

const TABLES: readonly Table[] = [
  ['`createInformer`', 'InformerOptions'],
  ['`derive`', 'DeriveOptions ViewOptions'],
  ['`deriveMany`', 'DeriveManyOptions ViewOptions'],
  ['`groupBy`', 'GroupByOptions ViewOptions'],
  ['`fileCache`', 'FileCacheOptions'],
  ['`subscribe` and `changes`', 'Scope SubscribeOptions'],
  ['`reconcile`', 'Scope ReconcileOptions'],
  ['`rateLimit` of `reconcile`', 'RateLimit'],
  ['`retry` of `reconcile`', 'RetryOptions'],
  ['`synced`, `waitFor`, `fresh`, `relist` and `until`', 'Wait VersionWait'],
  ['`health`', 'HealthOptions'],
  ['`instrumentInformers`', 'InstrumentationOptions'],
  ['`new DeltaFIFO`', 'DeltaFIFOOptions'],
  ['`postgresSource`', 'PostgresSourceOptions'],
  [
    '`postgresDatabase`',
    'PostgresDatabaseOptions',
    '`connect`, `pollIntervalMs`, `timeoutMs`, `trimEveryMs` and `wake` are those of `postgresSource`.',
  ],
  ['`postgresLeases`', 'PostgresLeasesOptions LeaseOptions'],
  ['`installChangeLog`', 'postgres/ChangeLogOptions'],
  ['`installLeases`', 'InstallLeasesOptions'],
  ['`sqliteSource`', 'SqliteSourceOptions'],
  ['`installChangeLog` of SQLite', 'sqlite/ChangeLogOptions'],
  ['`mysqlSource`', 'MysqlSourceOptions'],
  ['`mysqlDatabase`', 'MysqlDatabaseOptions', '`connect`, `timeoutMs` and `serverId` are those of `mysqlSource`.'],
  ['`etcdSource`', 'EtcdSourceOptions'],
  [
    '`etcdCluster`',
    'EtcdClusterOptions',
    '`collection` takes `prefix`, `range`, `codec`, `keys` and `pageSize` of `etcdSource`; `etcdCluster` takes its others.',
  ],
  [
    '`etcdLeases`',
    'EtcdLeasesOptions LeaseOptions',
    '`client`, `endpoints`, `credentials` and `auth` are those of `etcdSource`.',
  ],
  ['`natsKvSource`', 'NatsKvSourceOptions'],
  ['`natsLeases`', 'NatsLeasesOptions LeaseOptions'],
  ['`natsRelayStore`', 'NatsRelayStoreOptions'],
  ['`redisCollectionSource`', 'RedisCollectionSourceOptions'],
  ['`redisWriter`', 'RedisWriterOptions'],
  [
    '`redisDatabase`',
    'RedisDatabaseOptions',
    '`client`, `heartbeatMs`, `timeoutMs` and `retention` are those of `redisCollectionSource` and `redisWriter`.',
  ],
  ['`collection` of `redisDatabase`', 'RedisDatabaseCollectionOptions'],
  ['`redisRelayStore`', 'RedisRelayStoreOptions'],
  ['`redisStreamSource`', 'RedisStreamSourceOptions'],
  ['`redisKeysSource`', 'RedisKeysSourceOptions'],
  ['`redisLeases`', 'RedisLeasesOptions LeaseOptions'],
  ['`serveRelay`', 'ServeRelayOptions'],
  ['`relaySource`', 'RelaySourceOptions'],
  ['`memoryRelayStore`', 'MemoryRelayStoreOptions'],
  [
    '`kubernetesSource`',
    'KubernetesSourceOptions',
    'With `namespaces: string[]` instead of `namespace`, the result is a set of sources, one for each namespace.',
  ],
  ['`kubernetesLeases`', 'KubernetesLeasesOptions LeaseOptions'],
  ['`kubernetesWriter`', 'KubernetesWriterOptions'],
  ['`apply` of `kubernetesWriter`', 'KubernetesApplyOptions'],
  ['`finalizer` of `kubernetesWriter`', 'FinalizerOptions'],
  ['`eventRecorder` of `kubernetesWriter`', 'EventRecorderOptions'],
  ['`ownedBy`', 'OwnedByOptions'],
  ['`serveHttp`', 'ServeHttpOptions'],
  [
    '`serveHttp` for several informers',
    'ServeCollectionsOptions',
    'The others are those of `serveHttp` for one informer.',
  ],
  ['`serveShared`', 'ServeSharedOptions'],
  ['`sharedSource`', 'SharedSourceOptions'],
  ['`httpSource`', 'HttpSourceOptions'],
  ['`httpCollections`', 'HttpCollectionsOptions', 'The others are those of `httpSource`.'],
  ['`informerCollectionOptions`', 'InformerCollectionOptions'],
  ['`serveInspector`', 'InspectorOptions'],
  ['`memorySource`', 'MemorySourceOptions'],
  ['`memoryDatabase`', 'MemoryDatabaseOptions'],
  ['`memoryLeases`', 'MemoryLeasesOptions LeaseOptions'],
  ['`testController`', 'TestControllerOptions', 'The options of `reconcile` are allowed, too.'],
  ['`fakeKubernetes`', 'FakeKubernetesOptions'],
  ['`create` of a conformance harness', 'ConformanceOptions'],
]

const INTRODUCTION = `# All options

This page is made from the declarations by \`npm run api:accept\`. An option without "required" may be left out. An unknown
option, or a wrong value, is an \`OptionError\` that names the option and what is allowed.
`

/** Returns docs/reference/options.md. */
export function optionTables(): string {
  const declarations = filesUnder(['dist'], '.d.ts')
  const sections = TABLES.map(([heading, interfaces, note]) => {
    const rows = interfaces.split(' ').flatMap((declared) => membersOf(declarations, declared))
    return `\n## ${heading}\n\n| option | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n${note === undefined ? '' : `\n${note}\n`}`
  })
  return INTRODUCTION + sections.join('')
}

const listed = new Set(TABLES.flatMap(([, interfaces]) => interfaces.split(/[ /]/)))

/** Leaves the members of each interface that a table has out of a page of declarations. */
export function withoutOptions(page: string): string {
  return page.replace(
    /^(export interface (\w+).*?) \{(?: .*|\n(?: .*\n)*)\}$/gm,
    (whole, head: string, name: string) => (listed.has(name) ? `${head} {} // docs/reference/options.md` : whole),
  )
}

/** Returns the interfaces with options that no table has. `pages`: the public declarations. */
export function interfacesWithoutTable(pages: Iterable<string>): string[] {
  const declared = [...pages].join('\n').matchAll(/^export interface (\w*Options)\b/gm)
  return Array.from(declared, ([, name = '']) => name).filter((name) => !listed.has(name))
}

/** The rows of an interface. */
function membersOf(paths: readonly string[], declared: string): string[] {
  const [name = '', adapter = ''] = declared.split('/').reverse()
  const form = new RegExp(`^export interface ${name}\\b[^\\n]*\\{\\n([\\s\\S]*?)^\\}`, 'm')
  const bodies = paths.flatMap((path) => (path.includes(adapter) ? (form.exec(textOf(path))?.[1] ?? []) : []))
  const [body = ''] = bodies
  if (bodies.length !== 1) throw new Error(`${bodies.length} files declare the interface ${declared}`)
  const members = body.matchAll(
    /^ {4}(?:\/\*\*([\s\S]*?)\*\/\n {4})?(?:readonly )?(\w+)(\??)(: |\()([\s\S]*?);\n(?! {8}| {4}\})/gm,
  )
  return Array.from(members, ([, docstring = '', option = '', optional, colon, rest = '']) => {
    const type = colon === '(' ? `(${rest}` : rest
    return `| \`${option}\` | ${typeOf(type)} | ${optional === '' ? 'Required. ' : ''}${meaningOf(docstring)} |`
  })
}

/** A type in one line. Nested docstrings and \`| undefined\` say nothing that the table needs. */
function typeOf(type: string): string {
  const line = type
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/\s*\| undefined\b/g, '')
    .replace(/\breadonly (?=\w+\??:)/g, '')
    .replace(/\s+/g, ' ')
    .replace(/; \}/g, ' }')
  return `\`${line.replaceAll('|', '\\|')}\``
}

/** A docstring in one line, without its tags. */
function meaningOf(docstring: string): string {
  const prose = docstring.replace(/^\s*\* ?/gm, '').replace(/^@[\s\S]*/m, '')
  return prose.trim().replace(/\s+/g, ' ').replaceAll('|', '\\|')
}
