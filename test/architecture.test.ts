import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeOf, filesUnder, importsOf, textOf } from './support/sources.js'

const src = 'contract util queue reflector store subscriptions informer derive'.split(' ').map((each) => `src/${each}`)
/** What every adapter may import. */
const BASE = ['adapters/common', 'src/contract', 'src/util']
const RESPONSES = ['adapters/kubernetes/decode', 'adapters/kubernetes/http', 'adapters/kubernetes/history', ...BASE]

/**
 * Which folders and files a folder may import, besides itself and the folders below it. Type-only imports count. The most
 * specific folder of a file decides.
 */
const rules: Readonly<Record<string, readonly string[]>> = {
  src: src,
  'src/contract': [],
  'src/util': ['src/contract'],
  'src/queue': ['src/contract', 'src/util'],
  'src/reflector': ['src/contract', 'src/util', 'src/queue'],
  'src/store': ['src/contract', 'src/util', 'src/queue'],
  'src/store/indexes': ['src/contract', 'src/util', 'src/store/ordinals.ts', 'src/store/pin.ts', 'src/store/store.ts'],
  'src/subscriptions': ['src/contract', 'src/util', 'src/queue', 'src/store', 'src/reflector/backoff.ts'],
  'src/informer': src.filter((folder) => folder !== 'src/derive'),
  'src/derive': ['src/contract', 'src/util', 'src/queue/change.ts', 'src/store', 'src/informer'],
  adapters: [],
  'adapters/common': ['src/contract', 'src/util'],
  'adapters/memory': BASE,
  'adapters/postgres': BASE,
  'adapters/mysql': BASE,
  'adapters/sqlite': BASE,
  'adapters/nats': BASE,
  'adapters/etcd': BASE,
  'adapters/etcd/transport': ['adapters/etcd/etcd-options.ts', ...BASE],
  'adapters/etcd/history': ['adapters/etcd/transport', ...BASE],
  'adapters/etcd/watch': ['adapters/etcd/history', 'adapters/etcd/transport', ...BASE],
  'adapters/etcd/leases': ['adapters/etcd/etcd-options.ts', 'adapters/etcd/transport', 'adapters/etcd/watch', ...BASE],
  'caches/file': BASE,
  'adapters/redis': BASE,
  'adapters/redis/connection': BASE,
  'adapters/redis/collection': ['adapters/redis/connection', ...BASE],
  'adapters/redis/stream': ['adapters/redis/connection', ...BASE],
  'adapters/redis/keys': ['adapters/redis/connection', ...BASE],
  'adapters/redis/leases': ['adapters/redis/connection', ...BASE],
  'serving/http': [
    ...BASE,
    'src/queue/change.ts',
    'src/store/store-view.ts',
    'src/store/indexes/index-types.ts',
    'src/subscriptions/subscription-types.ts',
    'src/informer/informer-types.ts',
    'src/informer/internals.ts',
    'src/informer/joined-changes.ts',
  ],
  'serving/share': ['serving/http', ...BASE, 'src/informer/informer-types.ts', 'src/informer/internals.ts'],
  'serving/relay': [
    ...BASE,
    'src/queue/change.ts',
    'src/reflector/backoff.ts',
    'src/store/store-view.ts',
    'src/subscriptions/delivered-batch.ts',
    'src/subscriptions/controller/controller-types.ts',
    'src/subscriptions/replicas/replica-gate.ts',
    'src/subscriptions/subscription-types.ts',
    'src/informer/informer-events.ts',
    'src/informer/informer-types.ts',
    'src/informer/internals.ts',
  ],
  'adapters/kubernetes': [...BASE, 'src/informer/sources/source-set.ts'],
  'adapters/kubernetes/types': ['src/contract'],
  'adapters/kubernetes/http': ['adapters/kubernetes/types', ...BASE],
  'adapters/kubernetes/history': ['adapters/kubernetes/http', ...BASE],
  'adapters/kubernetes/decode': ['adapters/kubernetes/http', 'adapters/kubernetes/history', ...BASE],
  'adapters/kubernetes/list': RESPONSES,
  'adapters/kubernetes/watch': RESPONSES,
  'adapters/kubernetes/leases': [
    'adapters/kubernetes/decode/line-splitter.ts',
    'adapters/kubernetes/http',
    'adapters/kubernetes/kubernetes-options.ts',
    'adapters/kubernetes/watch',
    ...BASE,
  ],
  'adapters/kubernetes/write': [
    'adapters/kubernetes/http',
    'adapters/kubernetes/kubernetes-options.ts',
    ...BASE,
    'src/store/structural-equal.ts',
    'src/subscriptions/controller/controller-types.ts',
  ],
  'adapters/kubernetes/client-node': [
    'adapters/kubernetes',
    ...BASE,
    'src/informer/create-informer.ts',
    'src/informer/informer-types.ts',
  ],
  telemetry: ['src'],
  'bindings/react': [
    'src/contract/status.ts',
    'src/informer/internals.ts',
    'src/informer/informer-types.ts',
    'src/store/structural-equal.ts',
    'src/store/indexes/index-types.ts',
    'src/store/indexes/scalar.ts',
  ],
  'bindings/tanstack-db': [
    'src/contract',
    'src/informer/informer-types.ts',
    'src/queue/change.ts',
    'src/subscriptions/subscription-types.ts',
    'src/subscriptions/version-waiters.ts',
    'src/util/validate-options.ts',
  ],
  inspector: ['src', 'telemetry/metrics.ts', 'telemetry/prometheus/index.ts'],
  'inspector/page': ['inspector', 'src/informer/observation/inspect-types.ts'],
  testing: ['src/contract', 'src/adapter.ts', 'src/index.ts', 'adapters/memory/index.ts'],
  'testing/kubernetes': ['src/contract', 'adapters/kubernetes/index.ts'],
  tools: ['src/contract', 'src/util'],
  cli: ['src', 'adapters', 'serving', 'caches', 'inspector/index.ts', 'inspector/internal.ts', 'tools'],
}

const core = filesUnder(['src'], '.ts')
const testing = filesUnder(['testing'], '.ts')
const cli = filesUnder(['cli'], '.ts')
const tools = filesUnder(['tools'], '.ts')
const adapters = filesUnder(['adapters'], '.ts')
const serving = [...filesUnder(['serving'], '.ts'), ...filesUnder(['caches'], '.ts')]
const telemetry = filesUnder(['telemetry'], '.ts')
const bindings = filesUnder(['bindings'], '.ts')
const inspector = [...filesUnder(['inspector'], '.ts'), ...filesUnder(['inspector'], '.tsx')]
const all = [...core, ...inspector, ...telemetry, ...bindings, ...testing, ...cli, ...tools, ...adapters, ...serving]

/** Imports for which `isAllowed` returns false. */
function wrong(paths: readonly string[], isAllowed: (imported: string, path: string) => boolean): string[] {
  return paths.flatMap((path) =>
    importsOf(path)
      .filter((imported) => !isAllowed(imported, path))
      .map((imported) => `${path} imports ${imported}`),
  )
}

function isOurs(imported: string): boolean {
  return imported.endsWith('.ts') || imported.endsWith('.tsx')
}

/** Whether `path` is `folderOrFile` or below it. */
function isIn(path: string, folderOrFile: string): boolean {
  return path === folderOrFile || path.startsWith(`${folderOrFile}/`)
}

/** The most specific folder with a rule. */
function folderOf(path: string): string {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) if (folder in rules) return folder
  throw new Error(`no rule in test/architecture.test.ts covers ${path}`)
}

/** The name of the adapter that a path is in. */
function adapterOf(path: string): string | undefined {
  return /^adapters\/([^/]+)\//.exec(path)?.[1]
}

/** Cycles of imports, type-only imports included, each as a text. */
function cycles(paths: readonly string[]): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (done.has(path) || trail.includes(path)) return
    for (const imported of importsOf(path).filter(isOurs)) visit(imported, [...trail, path])
    done.add(path)
  }
  for (const path of paths) visit(path, [])
  return found
}

test('the source files are found', () => {
  expect([core, testing, cli, tools, adapters].every(({ length }) => length > 1)).toBe(true)
  expect(importsOf('src/informer/sources/source-runner.ts')).toContain('src/reflector/reflector.ts')
  expect(importsOf('src/informer/informer-events.ts')).toContain('eventemitter3')
})

describe('folders', () => {
  test('src/ has eight folders and two entry points', () => {
    const entries = new Set(core.map((path) => path.split('/')[1]))
    expect(entries).toEqual(new Set([...src.map((folder) => folder.slice('src/'.length)), 'adapter.ts', 'index.ts']))
  })

  test.each(Object.keys(rules))('%s imports only what its rule allows', (folder) => {
    const allowed = rules[folder] ?? []
    const files = all.filter((path) => folderOf(path) === folder)
    expect(
      wrong(
        files,
        (imported) => !isOurs(imported) || isIn(imported, folder) || allowed.some((each) => isIn(imported, each)),
      ),
    ).toEqual([])
  })

  test('no imports form a cycle', () => expect(cycles(all)).toEqual([]))

  test('the core and the memory source run in browsers: only node-or-browser.ts names what Node alone has', () => {
    const inBrowsers = [...core, ...adapters.filter((path) => adapterOf(path) === 'memory')]
    expect(wrong(inBrowsers, (imported) => !imported.startsWith('node:'))).toEqual([])
    const ofNode = /\b(process|Buffer|setImmediate|clearImmediate|require|__dirname)\b\s*[.(]/
    const users = inBrowsers.filter((path) => path !== 'src/contract/node-or-browser.ts' && ofNode.test(codeOf(path)))
    expect(users).toEqual([])
  })
})

describe('adapters', () => {
  test('are used by the command line only through index.ts and internal.ts', () => {
    const isPublic = (imported: string): boolean => /^\w+\/\w+\/(index|internal)\.ts$/.test(imported)
    expect(wrong(cli, (imported) => !/^(adapters|serving|caches)\//.test(imported) || isPublic(imported))).toEqual([])
  })

  test('import no driver: the user hands over their own', () => {
    const byAddress = 'adapters/etcd/transport/grpc-transport.ts'
    expect(
      wrong(
        [...adapters, ...serving],
        (imported, path) => isOurs(imported) || imported.startsWith('node:') || path === byAddress,
      ),
    ).toEqual([])
    // With endpoints instead of a client, the package is loaded when it is needed.
    expect(importsOf(byAddress).every((imported) => isOurs(imported) || imported === '@grpc/grpc-js')).toBe(true)
    expect(codeOf(byAddress)).not.toMatch(/^import (?!type)[^'"]*'@grpc/m)
  })
})

describe('packages', () => {
  test('the core needs eventemitter3 and nothing else', () => {
    const allowed = new Set(['eventemitter3'])
    expect(wrong(core, (imported) => isOurs(imported) || allowed.has(imported))).toEqual([])
    expect(Object.keys(JSON.parse(textOf('package.json')).dependencies)).toEqual(['eventemitter3'])
  })

  test('listwatch/testing imports vitest only in its suites, when they are called', () => {
    expect(
      wrong(
        testing,
        (imported) =>
          isOurs(imported) ||
          ['vitest', 'node:events', 'node:http', 'node:net', 'node:v8', 'node:vm'].includes(imported),
      ),
    ).toEqual([])
    const suite = 'testing/conformance/vitest-suite.ts'
    expect(all.filter((path) => importsOf(path).includes('vitest'))).toEqual([suite])
    expect(codeOf(suite)).not.toMatch(/from 'vitest'/)
  })

  test('only the file that is bundled for the command line imports commander and picocolors', () => {
    const ofScreens = new Set(['commander', 'picocolors'])
    expect(wrong(all, (imported, path) => !ofScreens.has(imported) || path === 'cli/bundled.ts')).toEqual([])
  })

  test('only listwatch/opentelemetry imports OpenTelemetry, and nothing else of telemetry imports a package', () => {
    const isTheirs = (imported: string): boolean => imported === '@opentelemetry/api'
    const entry = 'telemetry/opentelemetry/'
    expect(
      wrong(
        telemetry,
        (imported, path) =>
          isOurs(imported) ||
          (path.startsWith(entry) && (isTheirs(imported) || imported === 'node:diagnostics_channel')),
      ),
    ).toEqual([])
    expect(wrong(all, (imported, path) => !isTheirs(imported) || path.startsWith(entry))).toEqual([])
  })

  test('of bindings/, only listwatch/react imports a package, which is React, and no other folder imports them', () => {
    const isReact = (imported: string): boolean => imported === 'react' || imported.startsWith('react')
    const isOfReact = (path: string): boolean => path.startsWith('bindings/react/')
    expect(new Set(bindings.map((path) => path.split('/')[1]))).toEqual(new Set(['react', 'tanstack-db']))
    expect(wrong(bindings, (imported, path) => isOurs(imported) || (isOfReact(path) && imported === 'react'))).toEqual(
      [],
    )
    const others = all.filter((path) => !path.startsWith('bindings/'))
    expect(wrong(others, (imported) => !isReact(imported) && !isIn(imported, 'bindings'))).toEqual([])
  })

  test('only adapters, serving, caches and the command line touch the network, files and processes', () => {
    const outside = /^(node:)?(net|https?|http2|tls|dgram|dns|fs|fs\/promises|child_process|worker_threads|cluster)$/
    // The fake API server listens on a port.
    const inside = testing.filter((path) => !path.startsWith('testing/kubernetes/'))
    expect(wrong([...core, ...inside], (imported) => !outside.test(imported))).toEqual([])
  })
})

/** The casts of a file, without `as const`, imports and exports. */
function castsOf(path: string): readonly string[] {
  const code = codeOf(path)
    .replace(/(['"])(?:\\.|(?!\1)[^\\\n])*\1/g, '$1$1')
    .replace(/^(?:import|export) (?:type )?\{[^}]*\}/gm, '')
  return code.match(/[\w)\]}>'"`] as (?!const\b)[A-Za-z({[]/g) ?? []
}

/** The members of the interfaces of a file whose instances are callbacks and parts of other objects. */
function hooksOf(path: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  const interfaces = /^(?:export )?interface (\w*(?:Host|Parts|Hooks|Context))\b[^\n]*\{\n([\s\S]*?)^\}/gm
  for (const [, name = '', body = ''] of codeOf(path).matchAll(interfaces))
    found.set(name, body.match(/^ {2}(?:readonly )?\w+\??(?=[(:<])/gm) ?? [])
  return found
}

describe('[D18] the coupling of files', () => {
  test('no file has more than 600 lines', () => {
    expect(all.filter((path) => textOf(path).split('\n').length > 601)).toEqual([])
  })

  test('no folder has more than 20 files', () => {
    const counts = new Map<string, number>()
    for (const path of all) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
    expect([...counts].filter(([, count]) => count > 20)).toEqual([])
  })

  test('the imports inside a folder form at most 7 floors', () => {
    const floors = (path: string): number =>
      1 + Math.max(0, ...importsOf(path).flatMap((each) => (dirname(each) === dirname(path) ? [floors(each)] : [])))
    expect(all.filter((path) => floors(path) > 7)).toEqual([])
    expect(floors('src/derive/derive.ts')).toBeGreaterThan(4)
  })

  test('no file but an entry point imports more than 25 others', () => {
    const counts = all.map((path) => [path, new Set(importsOf(path)).size] as const)
    expect(counts.filter(([path, count]) => count > 25 && !path.endsWith('/index.ts'))).toEqual([])
  })

  test('the interfaces of callbacks and parts in src/ have at most 40 members, of which each requires at most 8', () => {
    // Those of the contract and of handlers are public.
    const isPublic = /^(?:Source|List|Watch|HistoryWatch|MirrorCache|Handler|Reconcile)Context$/
    const hooks = core.flatMap((path) => [...hooksOf(path)].filter(([name]) => !isPublic.test(name)))
    expect(hooks.map(([name]) => name)).toContain('FeedHost')
    expect(hooks.filter(([, members]) => members.filter((each) => !each.endsWith('?')).length > 8)).toEqual([])
    expect(hooks.reduce((sum, [, members]) => sum + members.length, 0)).toBeLessThanOrEqual(40)
  })
})

describe('[D22] state by the identity of an object', () => {
  const keys: Readonly<Record<string, readonly string[]>> = {
    // Other folders read the internals of objects that users see.
    internals: ['src/informer/internals.ts'],
    // A source has state for each mirror that it serves. The contract suggests a WeakMap.
    mirrors: [
      'serving/http/http-source.ts',
      'adapters/kubernetes/history/resume-guard.ts',
      'adapters/kubernetes/history/schema.ts',
      'adapters/nats/nats-source.ts',
      'adapters/common/upstream-versions.ts',
    ],
    // All users of an object of a driver, a thread or the language share its state.
    'objects of others': [
      'adapters/etcd/transport/etcd3-transport.ts',
      'adapters/kubernetes/cluster.ts',
      'adapters/kubernetes/http/credentials.ts',
      'adapters/mysql/connection/session.ts',
      'adapters/postgres/connection/client-factory.ts',
      'adapters/postgres/leases/pg-pool.ts',
      'serving/share/port-client.ts',
      'bindings/tanstack-db/informer-collection-options.ts',
      'inspector/store-digests.ts',
      'src/informer/sources/history-members.ts',
      'src/store/structural-equal.ts',
      'src/util/abort-listeners.ts',
    ],
    // One class remembers what it has computed for an object of another class, or that it has seen an error.
    'own objects': [
      'serving/http/serve-http.ts',
      'serving/share/shared-snapshots.ts',
      'bindings/react/use-status.ts',
      'src/store/indexes/moves.ts',
    ],
  }

  test('no other file than these has a WeakMap or a WeakSet', () => {
    const users = all.filter((path) => /\bnew Weak(?:Map|Set)\b/.test(codeOf(path)))
    expect(users.length).toBeGreaterThan(0)
    expect(users.filter((path) => !Object.values(keys).flat().includes(path))).toEqual([])
  })
})

describe('time and chance come from outside', () => {
  const words = [
    'Date.now',
    'new Date()',
    'performance',
    'setTimeout',
    'setInterval',
    'setImmediate',
    'queueMicrotask',
    'nextTick',
    'Math.random',
    'node:timers',
    'randomUUID',
    'getRandomValues',
  ]
  const allowed: Readonly<Record<string, readonly string[]>> = {
    'src/contract/clock.ts': ['performance', 'setTimeout', 'Date.now'],
    'src/contract/random.ts': ['Math.random'],
    'src/contract/node-or-browser.ts': ['setImmediate'],
    'testing/virtual-clock.ts': ['setImmediate'],
    // The id of a feed must not be guessed, and differ from that of each other server.
    'serving/http/random-id.ts': ['getRandomValues'],
    // The seed of the hashes of keys, in code that does not load node:crypto.
    'serving/share/shared-snapshots.ts': ['getRandomValues'],
    // Inboxes and consumers of several processes must differ.
    'adapters/nats/connection/session.ts': ['randomUUID'],
    // The inspector serves people, in real time.
    'inspector/informer-page.ts': ['Date.now'],
    'inspector/inspector-api.ts': ['setTimeout', 'setInterval'],
    'inspector/object-query.ts': ['performance'],
    'inspector/page/use-rows.ts': ['setTimeout'],
    'inspector/recent-changes.ts': ['Date.now'],
    'inspector/time-slice.ts': ['performance', 'setImmediate'],
    'cli/shutdown-signal.ts': ['setTimeout'], // One that keeps no process alive; a Clock has none.
  }

  test.each(all)('%s', (path) => {
    const code = codeOf(path)
    const said = words.filter((word) => code.replaceAll('clearTimeout', '').includes(word))
    expect(said.filter((word) => !allowed[path]?.includes(word))).toEqual([])
  })

  test('those that may still do', () => {
    for (const [path, said] of Object.entries(allowed)) {
      if (all.includes(path))
        expect(
          said.filter((word) => !codeOf(path).includes(word)),
          path,
        ).toEqual([])
    }
  })
})

test('no stack of disposables, which Node 22 and some browsers do not have', () => {
  expect(all.filter((path) => /\b(Async)?DisposableStack\b/.test(codeOf(path)))).toEqual([])
})

describe('types are never escaped from', () => {
  const escapes = {
    any: /[:<|&,(]\s*any\b|\bas\s+any\b|\bany\[\]|=>\s*any\b|=\s*any\b/,
    enum: /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s/m,
    namespace: /^\s*(export\s+)?(declare\s+)?namespace\s/m,
  }

  test.each(Object.entries(escapes))('no %s', (_name, pattern) => {
    expect(all.filter((path) => pattern.test(codeOf(path)))).toEqual([])
  })

  test('fewer than three casts in a thousand lines', () => {
    const shipped = all.filter((path) => !path.startsWith('inspector/page/'))
    const lines = shipped.reduce((sum, path) => sum + textOf(path).split('\n').length - 1, 0)
    expect(shipped.flatMap(castsOf).length / (lines / 1_000)).toBeLessThan(3)
    expect(castsOf('src/store/undo-journal.ts').length).toBeGreaterThan(2)
  })

  test('no @ts-ignore and no other', () => expect(all.filter((path) => /@ts-[a-z]/.test(textOf(path)))).toEqual([]))

  test('no linter is silenced in the core', () => {
    expect(core.filter((path) => /biome-ignore|oxlint-disable|eslint-disable/.test(textOf(path)))).toEqual([])
  })
})
