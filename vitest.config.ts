import { globSync } from 'node:fs'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { isDrawn } from './test/support/draw.js'

/** Tests that compute: one file for each of two cores. */
function computing(
  name: string,
  include: string[],
  testTimeout: number,
  exclude: string[] = [],
): TestProjectInlineConfiguration {
  return { test: { name, include, exclude, testTimeout, hookTimeout: 120_000, maxWorkers: 2 } }
}

/** The same for many small files. A worker imports the product once for all of them: that is a third of their time. */
function small(name: string, include: string[], testTimeout: number): TestProjectInlineConfiguration {
  return { test: { ...computing(name, include, testTimeout).test, isolate: false } }
}

/** Tests that wait for servers and for one another: four files at a time, also on two cores. */
function waiting(name: string, include: string[], exclude: string[] = []): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      include,
      exclude,
      testTimeout: 180_000,
      hookTimeout: 180_000,
      globalSetup: 'test/servers/global-setup.ts',
      maxWorkers: 4,
      sequence: { groupOrder: 1 },
    },
  }
}

/** Those of them that `npm test` leaves out. The gate runs a third of the files. */
function rest(name: string, include: string[], exclude: string[] = []): TestProjectInlineConfiguration {
  return waiting(name, globSync(include).filter(isDrawn), exclude)
}

/** Random faults of real servers, and the comparison with what the servers have. */
const campaigns = [
  'test/{etcd,kubernetes,mysql,nats,redis}/fuzz.test.ts',
  'test/conformance/leases/faults.test.ts',
  'test/postgres-faults/oracle.test.ts',
  'test/replicas/replicas.test.ts',
]

/** The simulator as a command, and on another Node. */
const simulatorProcesses = ['test/simulation/nodes.test.ts', 'test/simulation/runner/commands.test.ts']
const sqliteProcesses = ['test/sqlite/nodes.test.ts']

/** Sources without a server. The kit measures how soon a source stops, so they need the processors to themselves. */
const withoutServers = [
  'test/sqlite/**/*.test.ts',
  'test/conformance/{broken-sources,folder,http,memory,polled-sources,share,sqlite,without-vitest}.test.ts',
  'test/conformance/{leases/broken-leases,leases/memory,relay/memory,relay/memory-store}.test.ts',
]

/** `npm test` runs those above the line; scripts/test.mjs has their names. */
export default defineConfig({
  test: {
    reporters: ['default', './test/support/project-seconds.ts'],
    projects: [
      small('unit', ['test/unit/**/*.test.{ts,tsx}'], 5_000),
      {
        test: {
          ...small('property', ['test/property/**/*.test.ts'], 60_000).test,
          setupFiles: 'test/support/property.ts',
        },
      },
      small('package', ['test/*.test.ts'], 120_000),
      computing('simulation', ['test/simulation/**/*.test.ts'], 600_000, simulatorProcesses),
      {
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: 'test/types/tsconfig.json',
          },
        },
      },
      computing('kit', withoutServers, 180_000, sqliteProcesses),
      waiting('conformance', ['test/conformance/**/*.test.ts'], [...withoutServers, ...campaigns]),
      waiting('faults', campaigns),
      // ---
      rest(
        'postgres',
        ['test/{postgres,postgres-faults}/**/*.test.ts', 'test/{file-cache,share}/postgres.test.ts'],
        campaigns,
      ),
      rest('etcd', ['test/etcd/**/*.test.ts', 'test/file-cache/etcd.test.ts'], campaigns),
      rest('redis', ['test/redis/**/*.test.ts', 'test/file-cache/redis.test.ts'], campaigns),
      rest('mysql', ['test/mysql/**/*.test.ts', 'test/{file-cache,share}/mysql.test.ts'], campaigns),
      rest('nats', ['test/nats/**/*.test.ts'], campaigns),
      rest('kubernetes', ['test/kubernetes/**/*.test.ts', 'test/file-cache/kubernetes.test.ts'], campaigns),
      rest(
        'processes',
        [
          'test/{browser,cli,file-cache,operating,replicas,servers,share,soak}/**/*.test.ts',
          ...simulatorProcesses,
          ...sqliteProcesses,
        ],
        [...campaigns, 'test/{file-cache,share}/{postgres,etcd,mysql,redis,kubernetes}.test.ts'],
      ),
      // Tests of a mutant wait for servers. Too many at a time would time out, which counts as a kill.
      { test: { ...waiting('mutants', ['test/mutants/**/*.test.ts']).test, maxConcurrency: 6 } },
    ],
  },
})
