import { join } from 'node:path'
import { textOf } from './sources.js'

/** A table of docs/reference/options.md: its heading, the interfaces that declare the options, as `path name`, and a line after it. */
type Table = readonly [heading: string, interfaces: readonly string[], note?: string]

const TABLES: readonly Table[] = [
  ['`createInformer`', ['src/informer/informer-types InformerOptions']],
  ['`derive`', ['src/derive/view-options DeriveOptions', 'src/derive/view-options ViewOptions']],
  ['`deriveMany`', ['src/derive/view-options DeriveManyOptions', 'src/derive/view-options ViewOptions']],
  ['`groupBy`', ['src/derive/view-options GroupByOptions', 'src/derive/view-options ViewOptions']],
  ['`fileCache`', ['caches/file/file-cache FileCacheOptions']],
  [
    '`subscribe` and `changes`',
    ['src/subscriptions/subscription-types Scope', 'src/subscriptions/subscription-types SubscribeOptions'],
  ],
  [
    '`reconcile`',
    ['src/subscriptions/subscription-types Scope', 'src/subscriptions/controller/controller-types ReconcileOptions'],
  ],
  ['`rateLimit` of `reconcile`', ['src/subscriptions/controller/controller-types RateLimit']],
  ['`retry` of `reconcile`', ['src/subscriptions/controller/controller-types RetryOptions']],
  [
    '`synced`, `waitFor`, `fresh`, `relist` and `until`',
    ['src/util/deadline Wait', 'src/subscriptions/version-waiters VersionWait'],
  ],
  ['`health`', ['src/informer/informer-types HealthOptions']],
  ['`instrumentInformers`', ['telemetry/opentelemetry/index InstrumentationOptions']],
  ['`new DeltaFIFO`', ['src/queue/delta-fifo DeltaFIFOOptions']],
  ['`postgresSource`', ['adapters/postgres/postgres-options PostgresSourceOptions']],
  [
    '`postgresDatabase`',
    ['adapters/postgres/postgres-options PostgresDatabaseOptions'],
    '`connect`, `pollIntervalMs`, `timeoutMs`, `trimEveryMs` and `wake` are those of `postgresSource`.',
  ],
  [
    '`postgresLeases`',
    ['adapters/postgres/leases/postgres-leases PostgresLeasesOptions', 'adapters/common/lease-options LeaseOptions'],
  ],
  ['`installChangeLog`', ['adapters/postgres/schema/change-log-types ChangeLogOptions']],
  ['`installLeases`', ['adapters/postgres/leases/install-leases InstallLeasesOptions']],
  ['`sqliteSource`', ['adapters/sqlite/sqlite-options SqliteSourceOptions']],
  ['`installChangeLog` of SQLite', ['adapters/sqlite/change-log-admin ChangeLogOptions']],
  ['`mysqlSource`', ['adapters/mysql/mysql-options MysqlSourceOptions']],
  [
    '`mysqlDatabase`',
    ['adapters/mysql/mysql-options MysqlDatabaseOptions'],
    '`connect`, `timeoutMs` and `serverId` are those of `mysqlSource`.',
  ],
  ['`etcdSource`', ['adapters/etcd/etcd-options EtcdSourceOptions']],
  [
    '`etcdCluster`',
    ['adapters/etcd/etcd-options EtcdClusterOptions'],
    '`collection` takes `prefix`, `range`, `codec`, `keys` and `pageSize` of `etcdSource`; `etcdCluster` takes its others.',
  ],
  [
    '`etcdLeases`',
    ['adapters/etcd/leases/etcd-leases EtcdLeasesOptions', 'adapters/common/lease-options LeaseOptions'],
    '`client`, `endpoints`, `credentials` and `auth` are those of `etcdSource`.',
  ],
  ['`natsKvSource`', ['adapters/nats/nats-options NatsKvSourceOptions']],
  [
    '`natsLeases`',
    ['adapters/nats/leases/nats-leases NatsLeasesOptions', 'adapters/common/lease-options LeaseOptions'],
  ],
  ['`natsRelayStore`', ['adapters/nats/relay-store NatsRelayStoreOptions']],
  ['`redisCollectionSource`', ['adapters/redis/collection/redis-collection-source RedisCollectionSourceOptions']],
  ['`redisWriter`', ['adapters/redis/collection/redis-writer RedisWriterOptions']],
  [
    '`redisDatabase`',
    ['adapters/redis/collection/redis-database RedisDatabaseOptions'],
    '`client`, `heartbeatMs`, `timeoutMs` and `retention` are those of `redisCollectionSource` and `redisWriter`.',
  ],
  ['`collection` of `redisDatabase`', ['adapters/redis/collection/redis-database RedisDatabaseCollectionOptions']],
  ['`redisRelayStore`', ['adapters/redis/collection/relay-store RedisRelayStoreOptions']],
  ['`redisStreamSource`', ['adapters/redis/stream/stream-source RedisStreamSourceOptions']],
  ['`redisKeysSource`', ['adapters/redis/keys/keys-source RedisKeysSourceOptions']],
  [
    '`redisLeases`',
    ['adapters/redis/leases/redis-leases RedisLeasesOptions', 'adapters/common/lease-options LeaseOptions'],
  ],
  ['`serveRelay`', ['serving/relay/relay-types ServeRelayOptions']],
  ['`relaySource`', ['serving/relay/relay-source RelaySourceOptions']],
  ['`memoryRelayStore`', ['adapters/memory/memory-relay-store MemoryRelayStoreOptions']],
  [
    '`kubernetesSource`',
    ['adapters/kubernetes/kubernetes-options KubernetesSourceOptions'],
    'With `namespaces: string[]` instead of `namespace`, the result is a set of sources, one for each namespace.',
  ],
  [
    '`kubernetesLeases`',
    [
      'adapters/kubernetes/leases/kubernetes-leases KubernetesLeasesOptions',
      'adapters/common/lease-options LeaseOptions',
    ],
  ],
  ['`kubernetesWriter`', ['adapters/kubernetes/write/kubernetes-writer KubernetesWriterOptions']],
  ['`apply` of `kubernetesWriter`', ['adapters/kubernetes/write/kubernetes-writer KubernetesApplyOptions']],
  ['`finalizer` of `kubernetesWriter`', ['adapters/kubernetes/write/finalizer-types FinalizerOptions']],
  ['`eventRecorder` of `kubernetesWriter`', ['adapters/kubernetes/write/event-types EventRecorderOptions']],
  ['`ownedBy`', ['adapters/kubernetes/owned-by OwnedByOptions']],
  ['`serveHttp`', ['serving/http/serve-http ServeHttpOptions']],
  [
    '`serveHttp` for several informers',
    ['serving/http/serve-http ServeCollectionsOptions'],
    'The others are those of `serveHttp` for one informer.',
  ],
  ['`serveShared`', ['serving/share/serve-shared ServeSharedOptions']],
  ['`sharedSource`', ['serving/share/shared-source SharedSourceOptions']],
  ['`httpSource`', ['serving/http/http-options HttpSourceOptions']],
  ['`httpCollections`', ['serving/http/http-options HttpCollectionsOptions'], 'The others are those of `httpSource`.'],
  ['`informerCollectionOptions`', ['bindings/tanstack-db/informer-collection-options InformerCollectionOptions']],
  ['`serveInspector`', ['inspector/serve-inspector InspectorOptions']],
  ['`memorySource`', ['adapters/memory/memory-source MemorySourceOptions']],
  ['`memoryDatabase`', ['adapters/memory/memory-database MemoryDatabaseOptions']],
  [
    '`memoryLeases`',
    ['adapters/memory/memory-leases MemoryLeasesOptions', 'adapters/common/lease-options LeaseOptions'],
  ],
  [
    '`testController`',
    ['testing/test-controller TestControllerOptions'],
    'The options of `reconcile` are allowed, too.',
  ],
  ['`fakeKubernetes`', ['testing/kubernetes/fake-kubernetes-types FakeKubernetesOptions']],
  ['`create` of a conformance harness', ['testing/conformance/harness ConformanceOptions']],
]

const INTRODUCTION = `# All options

This page is made from the declarations by \`npm run api:accept\`. An option without "required" may be left out. An unknown
option, or a wrong value, is an \`OptionError\` that names the option and what is allowed.
`

/** Returns docs/reference/options.md. */
export function optionTables(): string {
  const sections = TABLES.map(([heading, interfaces, note]) => {
    const rows = interfaces.flatMap((declared) => {
      const [path = '', name = ''] = declared.split(' ')
      return membersOf(textOf(join('dist', `${path}.d.ts`)), name, path)
    })
    return `\n## ${heading}\n\n| option | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n${note === undefined ? '' : `\n${note}\n`}`
  })
  return INTRODUCTION + sections.join('')
}

/** Returns the interfaces with options that no table has. `pages`: the public declarations. */
export function interfacesWithoutTable(pages: Iterable<string>): string[] {
  const listed = new Set(TABLES.flatMap(([, interfaces]) => interfaces.map((declared) => declared.split(' ')[1])))
  const declared = [...pages].join('\n').matchAll(/^export interface (\w*Options)\b/gm)
  return Array.from(declared, ([, name = '']) => name).filter((name) => !listed.has(name))
}

/** The rows of an interface. */
function membersOf(text: string, name: string, path: string): string[] {
  const body = new RegExp(`^export interface ${name}\\b[^\\n]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(text)?.[1]
  if (body === undefined) throw new Error(`${path} does not declare the interface ${name}`)
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
