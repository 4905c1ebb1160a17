import { join } from 'node:path'
import { textOf } from './sources.js'

/** A table of docs/options.md: the options of one call, and the interface that declares them. */
interface Table {
  readonly heading: string
  /** The path of a declaration file under `dist`, and the name of an interface in it. */
  readonly of: readonly (readonly [path: string, name: string])[]
  /** A line after the table. */
  readonly note?: string
}

const TABLES: readonly Table[] = [
  { heading: '`createInformer`', of: [['src/informer/informer-types.d.ts', 'InformerOptions']] },
  { heading: '`fileCache`', of: [['adapters/file-cache/file-cache.d.ts', 'FileCacheOptions']] },
  {
    heading: '`subscribe` and `changes`',
    of: [
      ['src/subscriptions/subscription-types.d.ts', 'Scope'],
      ['src/subscriptions/subscription-types.d.ts', 'SubscribeOptions'],
    ],
  },
  {
    heading: '`reconcile`',
    of: [
      ['src/subscriptions/subscription-types.d.ts', 'Scope'],
      ['src/subscriptions/controller-types.d.ts', 'ReconcileOptions'],
    ],
  },
  { heading: '`rateLimit` of `reconcile`', of: [['src/subscriptions/controller-types.d.ts', 'RateLimit']] },
  { heading: '`retry` of `reconcile`', of: [['src/subscriptions/controller-types.d.ts', 'RetryOptions']] },
  {
    heading: '`synced`, `waitFor`, `fresh`, `relist` and `until`',
    of: [
      ['src/util/deadline.d.ts', 'Wait'],
      ['src/subscriptions/version-waiters.d.ts', 'VersionWait'],
    ],
  },
  { heading: '`health`', of: [['src/informer/informer-types.d.ts', 'HealthOptions']] },
  { heading: '`instrumentInformers`', of: [['telemetry/opentelemetry/index.d.ts', 'InstrumentationOptions']] },
  { heading: '`new DeltaFIFO`', of: [['src/queue/delta-fifo.d.ts', 'DeltaFIFOOptions']] },
  { heading: '`postgresSource`', of: [['adapters/postgres/postgres-options.d.ts', 'PostgresSourceOptions']] },
  {
    heading: '`postgresLeases`',
    of: [
      ['adapters/postgres/leases/postgres-leases.d.ts', 'PostgresLeasesOptions'],
      ['adapters/shared/lease-options.d.ts', 'LeaseOptions'],
    ],
  },
  { heading: '`installChangeLog`', of: [['adapters/postgres/change-log-types.d.ts', 'ChangeLogOptions']] },
  { heading: '`installLeases`', of: [['adapters/postgres/leases/install-leases.d.ts', 'InstallLeasesOptions']] },
  { heading: '`etcdSource`', of: [['adapters/etcd/etcd-options.d.ts', 'EtcdSourceOptions']] },
  {
    heading: '`etcdLeases`',
    of: [
      ['adapters/etcd/leases/etcd-leases.d.ts', 'EtcdLeasesOptions'],
      ['adapters/shared/lease-options.d.ts', 'LeaseOptions'],
    ],
    note: '`client`, `endpoints`, `credentials` and `auth` are those of `etcdSource`.',
  },
  { heading: '`natsKvSource`', of: [['adapters/nats/nats-options.d.ts', 'NatsKvOptions']] },
  {
    heading: '`natsLeases`',
    of: [
      ['adapters/nats/leases/nats-leases.d.ts', 'NatsLeasesOptions'],
      ['adapters/shared/lease-options.d.ts', 'LeaseOptions'],
    ],
  },
  { heading: '`natsRelayStore`', of: [['adapters/nats/relay-store.d.ts', 'NatsRelayStoreOptions']] },
  { heading: '`redisCollection`', of: [['adapters/redis/collection/redis-collection.d.ts', 'RedisCollectionOptions']] },
  { heading: '`redisWriter`', of: [['adapters/redis/collection/redis-writer.d.ts', 'RedisWriterOptions']] },
  { heading: '`redisRelayStore`', of: [['adapters/redis/collection/relay-store.d.ts', 'RedisRelayStoreOptions']] },
  { heading: '`redisStream`', of: [['adapters/redis/stream/stream-source.d.ts', 'RedisStreamOptions']] },
  { heading: '`redisKeys`', of: [['adapters/redis/keys/keys-source.d.ts', 'RedisKeysOptions']] },
  {
    heading: '`redisLeases`',
    of: [
      ['adapters/redis/leases/redis-leases.d.ts', 'RedisLeasesOptions'],
      ['adapters/shared/lease-options.d.ts', 'LeaseOptions'],
    ],
  },
  { heading: '`publish`', of: [['adapters/relay/relay-types.d.ts', 'PublishOptions']] },
  { heading: '`relaySource`', of: [['adapters/relay/relay-source.d.ts', 'RelaySourceOptions']] },
  { heading: '`memoryRelayStore`', of: [['adapters/memory/memory-relay-store.d.ts', 'MemoryRelayStoreOptions']] },
  {
    heading: '`kubernetesSource`',
    of: [['adapters/kubernetes/kubernetes-options.d.ts', 'KubernetesSourceOptions']],
    note: 'With `namespaces: string[]` instead of `namespace`, the result is a set of sources, one for each namespace.',
  },
  {
    heading: '`kubernetesLeases`',
    of: [
      ['adapters/kubernetes/leases/kubernetes-leases.d.ts', 'KubernetesLeasesOptions'],
      ['adapters/shared/lease-options.d.ts', 'LeaseOptions'],
    ],
  },
  {
    heading: '`kubernetesWriter`',
    of: [['adapters/kubernetes/write/kubernetes-writer.d.ts', 'KubernetesWriterOptions']],
  },
  {
    heading: '`apply` of `kubernetesWriter`',
    of: [['adapters/kubernetes/write/kubernetes-writer.d.ts', 'KubernetesApplyOptions']],
  },
  {
    heading: '`finalizer` of `kubernetesWriter`',
    of: [['adapters/kubernetes/write/finalizer-types.d.ts', 'FinalizerOptions']],
  },
  {
    heading: '`eventRecorder` of `kubernetesWriter`',
    of: [['adapters/kubernetes/write/event-types.d.ts', 'EventRecorderOptions']],
  },
  { heading: '`ownedBy`', of: [['adapters/kubernetes/owned-by.d.ts', 'OwnedByOptions']] },
  { heading: '`serveMirror`', of: [['adapters/http/serve-mirror.d.ts', 'ServeMirrorOptions']] },
  { heading: '`shareInformer`', of: [['adapters/share/share-informer.d.ts', 'ShareOptions']] },
  { heading: '`sharedSource`', of: [['adapters/share/shared-source.d.ts', 'SharedSourceOptions']] },
  { heading: '`httpSource`', of: [['adapters/http/http-options.d.ts', 'HttpSourceOptions']] },
  {
    heading: '`informerCollectionOptions`',
    of: [['bindings/tanstack-db/informer-collection-options.d.ts', 'InformerCollectionOptions']],
  },
  { heading: '`serveInspector`', of: [['inspector/serve-inspector.d.ts', 'InspectorOptions']] },
  { heading: '`memorySource`', of: [['adapters/memory/memory-source.d.ts', 'MemorySourceOptions']] },
  { heading: '`memoryLeases`', of: [['adapters/memory/memory-leases.d.ts', 'MemoryLeasesOptions']] },
  {
    heading: '`testController`',
    of: [['testing/test-controller.d.ts', 'TestControllerOptions']],
    note: 'The options of `reconcile` are allowed, too.',
  },
  {
    heading: '`fakeKubernetes`',
    of: [['testing/kubernetes/fake-kubernetes-types.d.ts', 'FakeKubernetesOptions']],
  },
  { heading: '`create` of a conformance harness', of: [['testing/conformance/harness.d.ts', 'ConformanceOptions']] },
]

const INTRODUCTION = `# All options

This page is made from the declarations by \`npm run api:accept\`. An option without "required" may be left out. An unknown
option, or a wrong value, is an \`OptionError\` that names the option and what is allowed.
`

/** Returns docs/options.md. */
export function optionTables(): string {
  const sections = TABLES.map(({ heading, of, note }) => {
    const rows = of.flatMap(([path, name]) => membersOf(textOf(join('dist', path)), name, path))
    return `\n## ${heading}\n\n| option | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n${note === undefined ? '' : `\n${note}\n`}`
  })
  return INTRODUCTION + sections.join('')
}

/** Returns the interfaces with options that no table has. `pages`: the public declarations. */
export function interfacesWithoutTable(pages: Iterable<string>): string[] {
  const listed = new Set(TABLES.flatMap(({ of }) => of.map(([, name]) => name)))
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
