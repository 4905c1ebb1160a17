import { locateServer } from './locate.js'
import { type ServerName, serverNames } from './recipes.js'

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

/** Every Postgres that tests run against, here or not, newest first. */
export function postgresNames(): ServerName[] {
  return namesLike(/^postgres/)
}

/** Every server with such a name that tests run against, here or not. `npm test` has the first one. */
export function namesLike(form: RegExp): ServerName[] {
  return serverNames.filter((name) => form.test(name))
}

/** Every Kubernetes that tests run against, here or not, with the etcd that kubeadm installs with it. */
export const kubernetesNames: readonly (readonly [kubernetes: ServerName, etcd: ServerName])[] = [
  ['kubernetes 1.36', 'etcd 3.6'],
  ['kubernetes 1.37', 'etcd 3.7'],
]
