import { defineConfig } from 'vitest/config'

/**
 * `unit` and `property` run in virtual time and in memory: seconds. `package` looks at the package as a whole: imports,
 * declarations, the API programs. `simulation` runs schedules of faults on all cores for a minute or two. `servers` needs more than this process, and takes its time.
 */
export default defineConfig({
  test: {
    // Most tests wait for a server: two files at a time, even on two cores.
    maxWorkers: 2,
    reporters: ['default', './test/support/project-seconds.ts'],
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.{ts,tsx}'], testTimeout: 5_000 } },
      { test: { name: 'property', include: ['test/property/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'file-cache',
          include: ['test/file-cache/*.test.ts'],
          exclude: ['test/file-cache/{postgres,etcd,redis,kubernetes}.test.ts'],
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'share',
          include: ['test/share/*.test.ts'],
          exclude: ['test/share/postgres.test.ts'],
          testTimeout: 120_000,
        },
      },
      { test: { name: 'package', include: ['test/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts', 'test/mutants/*.test.ts'],
          testTimeout: 600_000,
        },
      },
      {
        test: {
          name: 'servers',
          include: ['test/{browser,cli,conformance,mutants/adapters,operating,replicas,servers,soak}/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: 'test/servers/global-setup.ts',
        },
      },
      {
        test: {
          name: 'postgres',
          include: ['test/{postgres,postgres-faults}/**/*.test.ts', 'test/{file-cache,share}/postgres.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: 'test/servers/global-setup.ts',
        },
      },
      {
        test: {
          name: 'etcd',
          include: ['test/etcd/**/*.test.ts', 'test/file-cache/etcd.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: 'test/servers/global-setup.ts',
        },
      },
      {
        test: {
          name: 'redis',
          include: ['test/redis/**/*.test.ts', 'test/file-cache/redis.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: 'test/servers/global-setup.ts',
        },
      },
      {
        test: {
          name: 'nats',
          include: ['test/nats/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: 'test/servers/global-setup.ts',
        },
      },
      {
        test: {
          name: 'kubernetes',
          include: ['test/kubernetes/**/*.test.ts', 'test/file-cache/kubernetes.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: 'test/servers/global-setup.ts',
        },
      },
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
    ],
  },
})
