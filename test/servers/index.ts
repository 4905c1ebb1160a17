import { describe, test } from 'vitest'
import { drawn } from '../support/draw.js'
import type { KubernetesPrograms } from './kubernetes.js'
import { type FoundServer, type LocatedServer, locateServer, type MissingServer } from './locate.js'
import { etcdNames, kubernetesNames, mysqlNames, type PostgresVersion, postgresNames, redisNames } from './lookups.js'
import type { ServerName } from './recipes.js'
import { isRequired } from './required.js'

export type { KubernetesPrograms } from './kubernetes.js'
export type { FoundServer } from './locate.js'
export { type PostgresVersion, postgresVersions } from './lookups.js'
export type { ServerName } from './recipes.js'

declare module 'vitest' {
  interface TaskMeta {
    /** Set on a test that stands for those that need a server which is lacking. */
    missingServer?: { readonly name: string; readonly why: string }
  }
}

type Body<S> = (server: S) => void | Promise<void>

interface Describe<S> {
  (title: string, body: Body<S>): void
  /** All tests run at the same time, those against other versions too. They use `onTestFinished` of their context. */
  concurrent(title: string, body: Body<S>): void
}

function describer<S>(ofEach: (body: Body<S>) => Promise<void>): Describe<S> {
  return Object.assign((title: string, body: Body<S>) => describe(title, () => ofEach(body)), {
    concurrent: (title: string, body: Body<S>) => describe.concurrent(title, () => ofEach(body)),
  })
}

/**
 * Tests against every Postgres that tests know, or the one that was drawn. One that is lacking becomes a skipped test, and a
 * line in the table at the end of the run; with `LISTWATCH_REQUIRE_SERVERS=all`, a failed one.
 */
export const describePostgres = describer<PostgresVersion>(async (body) => {
  for (const name of drawn(postgresNames())) describeLocated(name, await locateServer(name), body)
})

export const describeEtcd = describer<FoundServer>(async (body) => {
  for (const name of drawn(etcdNames())) describeLocated(name, await locateServer(name), body)
})

export const describeKubernetes = describer<KubernetesPrograms>(async (body) => {
  for (const [name, etcdName] of drawn(kubernetesNames)) {
    const etcd = await locateServer(etcdName)
    const apiServer = await locateServer(name)
    describeLocated(name, etcd.type === 'missing' ? etcd : apiServer, async (found) => {
      if (etcd.type === 'found') await body({ apiServer: found, etcd })
    })
  }
})

/** The same for every Redis, and what speaks as it does. */
export const describeRedis = describer<FoundServer>(async (body) => {
  for (const name of drawn(redisNames())) describeLocated(name, await locateServer(name), body)
})

/** The same for every MariaDB and every MySQL. */
export const describeMysql = describer<FoundServer>(async (body) => {
  for (const name of drawn(mysqlNames())) describeLocated(name, await locateServer(name), body)
})

/** The same for tests against one server. */
export function describeServer(name: ServerName, title: string, body: Body<FoundServer>): void {
  describe(title, async () => void describeLocated(`with ${name}`, await locateServer(name), body))
}

function describeLocated(title: string, server: LocatedServer, body: Body<FoundServer>): void {
  describe(title, async () => {
    if (server.type === 'found') await body(server)
    else standIn(server)
  })
}

function standIn({ name, why }: MissingServer): void {
  test(`needs ${name}`, ({ skip, task }) => {
    if (isRequired(name)) throw new Error(`${name} is required and lacking: ${why}`)
    task.meta.missingServer = { name, why }
    skip(`${name} is lacking: ${why}`)
  })
}
