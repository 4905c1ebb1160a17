import type { Engine } from './engine.ts'

/** Each engine that has a source. A process loads its own: each of the drivers takes time and memory. */
export const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  postgres: async () => (await import('./postgres.ts')).postgres,
  sqlite: async () => (await import('./sqlite.ts')).sqlite,
  mysql: async () => (await import('./mysql.ts')).mysqlTable,
  etcd: async () => (await import('./etcd.ts')).etcd,
  'redis collection': async () => (await import('./redis.ts')).redisCollection,
  'redis stream': async () => (await import('./redis.ts')).redisStream,
  nats: async () => (await import('./nats.ts')).nats,
  kubernetes: async () => (await import('./kubernetes.ts')).kubernetes,
  memory: async () => (await import('./memory.ts')).memory,
}
