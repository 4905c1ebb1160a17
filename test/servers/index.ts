import { describe, test } from 'vitest'
import { drawn } from '../support/draw.js'
import type { KubernetesPrograms } from './kubernetes.js'
import { type FoundServer, type LocatedServer, locateServer, type MissingServer } from './locate.js'
import { kubernetesNames, namesLike } from './lookups.js'
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
/** The body receives what `use` returns for a server, as `useRedis` does. Without a body, `use` has the tests. */
type Tests<S, O> = [use: (server: S) => O, body?: (own: O, server: S) => void | Promise<void>]

interface Describe<S> {
  <O>(title: string, ...tests: Tests<S, O>): void
  /** All tests run at the same time, those against other versions too. They use `onTestFinished` of their context. */
  concurrent<O>(title: string, ...tests: Tests<S, O>): void
}

function describer<S>(ofEach: (body: Body<S>) => Promise<void>): Describe<S> {
  return Object.assign(
    <O>(title: string, ...tests: Tests<S, O>) => void describe(title, () => ofEach(bodyOf(...tests))),
    {
      concurrent: <O>(title: string, ...tests: Tests<S, O>) =>
        void describe.concurrent(title, () => ofEach(bodyOf(...tests))),
    },
  )
}

function bodyOf<S, O>(...[use, body = async (own) => void (await own)]: Tests<S, O>): Body<S> {
  return (server) => body(use(server), server)
}

function describerOf(form: RegExp): Describe<FoundServer> {
  return describer(async (body) => {
    for (const name of drawn(namesLike(form))) describeLocated(name, await locateServer(name), body)
  })
}

/**
 * Tests against every Postgres that tests know, or the one that was drawn. One that is lacking becomes a skipped test, and a
 * line in the table at the end of the run; with `LISTWATCH_REQUIRE_SERVERS=all`, a failed one.
 */
export const describePostgres = describerOf(/^postgres/)

export const describeEtcd = describerOf(/^etcd/)

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
export const describeRedis = describerOf(/^(redis|valkey)/)

/** The same for every MariaDB and every MySQL. */
export const describeMysql = describerOf(/^(mariadb|mysql)/)

/** The same for tests against one server. */
export function describeServer<O>(name: ServerName, title: string, ...tests: Tests<FoundServer, O>): void {
  describe(title, async () => void describeLocated(`with ${name}`, await locateServer(name), bodyOf(...tests)))
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
