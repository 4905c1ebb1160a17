import { join } from 'node:path'
import { type FoundServer, locateServer } from './locate.js'
import { recipes, type ServerName } from './recipes.js'

/** One Postgres that this machine has; what `startPostgres` takes. */
export interface PostgresVersion {
  readonly name: ServerName
  readonly version: string
  readonly binDir: string
  readonly env: Readonly<Record<string, string>>
}

/** Every Postgres that this machine has, newest first. */
export async function postgresVersions(): Promise<PostgresVersion[]> {
  const servers = await Promise.all(postgresNames().map(locateServer))
  return servers.filter((server) => server.type === 'found')
}

export interface PgbouncerBinary extends FoundServer {
  readonly path: string
}

/** The pgbouncer that this machine has. */
export async function pgbouncerBinary(): Promise<PgbouncerBinary | undefined> {
  const server = await locateServer('pgbouncer')
  return server.type === 'found' ? { ...server, path: join(server.binDir, 'pgbouncer') } : undefined
}

/** Every Postgres that tests run against, here or not, newest first. */
export function postgresNames(): ServerName[] {
  return recipes.map((recipe) => recipe.name).filter((name) => name.startsWith('postgres'))
}

/** Every etcd that tests run against, here or not. `npm test` has the first one. */
export function etcdNames(): ServerName[] {
  return recipes.map((recipe) => recipe.name).filter((name) => name.startsWith('etcd'))
}

/** Every Redis and its like that tests run against, here or not. */
export function redisNames(): ServerName[] {
  return recipes.map((recipe) => recipe.name).filter((name) => /^(redis|valkey)/.test(name))
}

/** Every MariaDB and every MySQL that tests run against, here or not. */
export function mysqlNames(): ServerName[] {
  return recipes.map((recipe) => recipe.name).filter((name) => /^(mariadb|mysql)/.test(name))
}

/** Every Kubernetes that tests run against, here or not, with the etcd that kubeadm installs with it. */
export const kubernetesNames: readonly (readonly [kubernetes: ServerName, etcd: ServerName])[] = [
  ['kubernetes 1.36', 'etcd 3.6'],
  ['kubernetes 1.37', 'etcd 3.7'],
]
