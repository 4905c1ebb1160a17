import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeOf, filesUnder, importsAtRunTimeOf, importsOf, textOf } from './support/sources.js'

/**
 * Who may import whom: a file imports only from steps before its own. What stands on one line knows nothing of its
 * neighbours.
 */
const steps = {
  // L0: of nothing but themselves.
  'L0 leaves': 'clock equal errors freeze integers json key options random redact scalar schema',
  'L0 version': 'version',
  // L1: words and small parts.
  'L1 contract': 'attempt backoff delays news relist-limit slow-watch source startable telemetry turns waits',
  'L1 changes': 'delta index-types listeners work-queue',
  // L2: data, and policy as data.
  'L2 store': 'delta-fifo intake reflector-state store',
  'L2 parts': 'hash-index ownership room sorted-index',
  'L2 builder': 'index-builder',
  'L2 views': 'commit scope views',
  'L2 writer': 'store-writer',
  'L2 replacement': 'replacement',
  'L2 sink': 'store-part',
  'L2 indexer': 'indexer',
  // L3: what moves.
  'L3 loop and feeds': 'feed reflector',
  'L3 over them': 'audit open-batches router source-set',
  'L3 one source': 'mirrored-source',
  // L4: how somebody is told.
  'L4 followers': 'change-stream controller subscription',
  'L4 contract': 'informer-contract',
  'L5 informer': 'informer',
  'L6 group': 'informer-group',
  'L7 index': 'index',
}

/** All that an adapter may know of src. */
const forAdapters = new Set(['errors', 'version', 'clock', 'random', 'key', 'json', 'redact', 'options', 'source'])

/** What is more than an adapter: a set of sources, and an informer in the place of somebody else's. */
const beyondAdapters: Readonly<Record<string, string>> = {
  'adapters/kubernetes/namespaces.ts': 'src/source-set.ts',
  'adapters/kubernetes/make-informer.ts': 'src/informer.ts',
}

const order = new Map<string, number>(
  Object.values(steps).flatMap((names, step) => names.split(' ').map((name) => [`src/${name}.ts`, step] as const)),
)
const core = filesUnder(['src'], '.ts').filter((path) => dirname(path) === 'src')
const testing = filesUnder(['src/testing'], '.ts')
const cli = filesUnder(['src'], '.ts').filter((path) => path.startsWith('src/cli/'))
const adapters = filesUnder(['adapters'], '.ts')
const all = [...core, ...testing, ...cli, ...adapters]

/** Imports that are not as `isAllowed` says. */
function wrong(paths: readonly string[], isAllowed: (imported: string, path: string) => boolean): string[] {
  return paths.flatMap((path) =>
    importsOf(path)
      .filter((imported) => !isAllowed(imported, path))
      .map((imported) => `${path} imports ${imported}`),
  )
}

function isOurs(imported: string): boolean {
  return imported.endsWith('.ts')
}

/** The name of the adapter that a path is in. */
function adapterOf(path: string): string | undefined {
  return /^adapters\/([^/]+)\//.exec(path)?.[1]
}

test('there is something to look at', () => {
  expect([core.length, testing.length, adapters.length].every((count) => count > 1)).toBe(true)
  expect(importsOf('src/informer.ts')).toContain('src/reflector.ts')
  expect(importsOf('src/listeners.ts')).toContain('eventemitter3')
})

describe('levels', () => {
  test('every file of the core has its place', () => {
    expect([...order.keys()].sort()).toEqual(core)
  })

  test('a file imports only from steps before its own', () => {
    const stepOf = (path: string): number => order.get(path) ?? -1
    expect(wrong(core, (imported) => !isOurs(imported) || order.has(imported))).toEqual([])
    expect(wrong(core, (imported, path) => !isOurs(imported) || stepOf(imported) < stepOf(path))).toEqual([])
  })

  test('nothing imports in a circle', () => {
    const circles: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      if (done.has(path) || trail.includes(path)) return
      for (const imported of importsAtRunTimeOf(path).filter(isOurs)) visit(imported, [...trail, path])
      done.add(path)
    }
    for (const path of all) visit(path, [])
    expect(circles).toEqual([])
  })

  test('what users test with imports leaves, the contract and the memory source', () => {
    const leaves = ['clock', 'errors', 'random', 'source', 'version'].map((name) => `src/${name}.ts`)
    const allowed = new Set([...leaves, ...testing, 'adapters/memory/index.ts'])
    expect(wrong(testing, (imported) => !isOurs(imported) || allowed.has(imported))).toEqual([])
  })

  test('nothing but the command line knows the command line', () => {
    expect(wrong([...core, ...testing, ...adapters], (imported) => !imported.startsWith('src/cli/'))).toEqual([])
  })

  test('only what users test with, and the command line, know an adapter', () => {
    expect(wrong(core, (imported) => !imported.startsWith('adapters/'))).toEqual([])
  })
})

describe('adapters', () => {
  test('know of src only the contract and the leaves that it needs', () => {
    expect(
      wrong(
        adapters,
        (imported, path) =>
          !imported.startsWith('src/') ||
          forAdapters.has(basename(imported, '.ts')) ||
          beyondAdapters[path] === imported,
      ),
    ).toEqual([])
  })

  test('never know each other', () => {
    expect(
      wrong(adapters, (imported, path) => adapterOf(imported) === undefined || adapterOf(imported) === adapterOf(path)),
    ).toEqual([])
  })

  test('import no driver: the user hands over their own', () => {
    const byAddress = 'adapters/etcd/grpc-transport.ts'
    expect(
      wrong(adapters, (imported, path) => isOurs(imported) || imported.startsWith('node:') || path === byAddress),
    ).toEqual([])
    // Who gives addresses instead has it loaded, when it is needed.
    expect(importsOf(byAddress).every((imported) => isOurs(imported) || imported === '@grpc/grpc-js')).toBe(true)
    expect(codeOf(byAddress)).not.toMatch(/^import (?!type)[^'"]*'@grpc/m)
  })
})

describe('packages', () => {
  test('the core needs eventemitter3 and nothing else', () => {
    const allowed = new Set(['eventemitter3', 'node:diagnostics_channel'])
    expect(wrong(core, (imported) => isOurs(imported) || allowed.has(imported))).toEqual([])
    expect(Object.keys(JSON.parse(textOf('package.json')).dependencies)).toEqual(['eventemitter3'])
  })

  test('what users test with needs vitest only where it describes tests, and only then', () => {
    expect(
      wrong(
        testing,
        (imported) => isOurs(imported) || ['vitest', 'node:events', 'node:v8', 'node:vm'].includes(imported),
      ),
    ).toEqual([])
    expect(all.filter((path) => importsOf(path).includes('vitest'))).toEqual(['src/testing/conformance/describe.ts'])
    expect(codeOf('src/testing/conformance/describe.ts')).not.toMatch(/from 'vitest'/)
  })

  test('only the command line uses commander and picocolors', () => {
    const ofScreens = new Set(['commander', 'picocolors'])
    expect(wrong([...core, ...testing, ...adapters], (imported) => !ofScreens.has(imported))).toEqual([])
  })

  test('only adapters and the command line touch the network, files and processes', () => {
    const outside = /^(node:)?(net|https?|http2|tls|dgram|dns|fs|fs\/promises|child_process|worker_threads|cluster)$/
    expect(wrong([...core, ...testing], (imported) => !outside.test(imported))).toEqual([])
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
    'src/clock.ts': ['performance', 'setTimeout', 'setImmediate'],
    'src/random.ts': ['Math.random'],
    'src/testing/virtual-clock.ts': ['setImmediate'],
    'src/cli/ending.ts': ['setTimeout'], // One that keeps no process alive; a Clock has none.
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

describe('types are never escaped from', () => {
  const escapes = {
    any: /[:<|&,(]\s*any\b|\bas\s+any\b|\bany\[\]|=>\s*any\b|=\s*any\b/,
    enum: /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s/m,
    namespace: /^\s*(export\s+)?(declare\s+)?namespace\s/m,
  }

  test.each(Object.entries(escapes))('no %s', (_name, pattern) => {
    expect(all.filter((path) => pattern.test(codeOf(path)))).toEqual([])
  })

  test('no @ts-ignore and no other', () => {
    expect(all.filter((path) => /@ts-[a-z]/.test(textOf(path)))).toEqual([])
  })

  test('no linter is silenced in the core', () => {
    expect(core.filter((path) => /biome-ignore|oxlint-disable|eslint-disable/.test(textOf(path)))).toEqual([])
  })
})
