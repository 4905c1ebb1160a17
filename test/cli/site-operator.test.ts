import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type KubernetesObject as Draft, loadYaml } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { installLeases } from '../../adapters/postgres/index.js'
import { useKubernetes } from '../kubernetes/support.js'
import { useServer } from '../postgres/support.js'
import { describeKubernetes, describeServer } from '../servers/index.js'
import { succeeds, waitUntil } from '../servers/wait-until.js'
import type { Child } from '../support/child.js'
import { textOf } from '../support/sources.js'
import { example, expectEnd, kubeConfigEnv, urlOf } from './support.js'

const FOLDER = 'examples/site-operator'
const LEASE_MS = 1_500
/** A crashed replica is replaced after a lease; a busy machine needs time too. */
const DEADLINE_MS = 60_000

function replicas(file: string, count: number, env: NodeJS.ProcessEnv): Child[] {
  return Array.from({ length: count }, () =>
    example(join('site-operator', file), [], { ...env, LEASE_MS: String(LEASE_MS) }),
  )
}

/** The sites that a replica has run. */
function sitesOf(child: Child): Set<string> {
  return new Set(child.lines.filter((line) => line !== 'ready').map((line) => line.split(':')[0] ?? ''))
}

const NAMES = Array.from({ length: 12 }, (_, n) => `site${n}`)

/** A cluster or a database with an operator. */
interface World {
  put(name: string, page: string, workers: number): Promise<void>
  remove(name: string): Promise<void>
  /** Deletes a worker, as a person by mistake. */
  kill(name: string, n: number): Promise<void>
  /** The sites, with the page and the numbers of the workers that they have. */
  state(): Promise<
    Record<string, { readonly page: string; readonly workers: readonly number[]; readonly status: number }>
  >
}

/** Sites are created, changed and deleted while two of three replicas are killed. */
async function survives(world: World, start: (count: number) => Child[]): Promise<void> {
  const [first, second, third] = start(3)
  if (first === undefined || second === undefined || third === undefined) throw new Error('three were started')
  await Promise.all(
    [first, second, third].map((each) => each.until(() => each.lines.includes('ready'), 'its start', DEADLINE_MS)),
  )
  const wanted = new Map<string, number>()
  const write = async (name: string, workers: number): Promise<void> => {
    wanted.set(name, workers)
    await world.put(name, `page ${workers}`, workers)
  }
  const converged = async (): Promise<void> => {
    const state = Object.fromEntries(
      Array.from(wanted, ([name, count]) => [
        name,
        { page: `page ${count}`, workers: Array.from({ length: count }, (_, n) => n), status: count },
      ]),
    )
    await expect.poll(() => world.state(), { timeout: DEADLINE_MS, interval: 200 }).toEqual(state)
  }
  // A replica that has just started gains its share after a lease. Ids are random: of few sites a replica may own none.
  const isShared = (): boolean => [first, second, third].every((each) => sitesOf(each).size > 0)
  const deadline = performance.now() + DEADLINE_MS
  for (let round = 0; round === 0 || !isShared(); round++) {
    expect(performance.now()).toBeLessThan(deadline)
    const names = [...NAMES, ...Array.from({ length: round }, (_, n) => `more${n}`)]
    for (const [n, name] of names.entries()) await write(name, (n + round) % 4)
    await converged()
  }

  first.kill('SIGKILL')
  for (const [n, name] of NAMES.entries()) await write(name, (n + 2) % 5)
  await converged()
  await world.kill('site0', 1)
  await converged()

  second.kill('SIGKILL')
  for (const name of NAMES.slice(0, 6)) {
    wanted.delete(name)
    await world.remove(name)
  }
  await write('site7', 1)
  await converged()
  await waitUntil('the last replica to run all sites', () =>
    NAMES.slice(0, 6).every((name) => [...sitesOf(third)].some((site) => site.endsWith(name))),
  )

  const [fresh] = start(1)
  await fresh?.until(() => fresh.lines.includes('ready'), 'its start', DEADLINE_MS)
  await expectEnd(third, 'SIGTERM')
  await write('site8', 4)
  await converged()
  await expectEnd(fresh, 'SIGINT')
}

describeKubernetes('examples/site-operator/operator.ts', useKubernetes, (own) => {
  test('has the pods and the page of each site, although replicas are killed', async () => {
    const { admin } = own.kubernetes
    const crd = loadYaml<Draft & { metadata: { name: string } }>(textOf(join(FOLDER, 'crd.yaml')))
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    // A second attempt finds the definition of the first, and the sites in another namespace.
    const isDefined = (await admin.list(crds)).items.some(({ metadata }) => metadata?.name === crd.metadata.name)
    if (!isDefined) await admin.create(crds, { ...crd })
    const namespace = `sites-${randomUUID()}`
    await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const api = `/apis/example.com/v1/namespaces/${namespace}/sites`
    const core = `/api/v1/namespaces/${namespace}`
    await waitUntil('sites to be served', () => succeeds(admin.list(api)))

    interface SiteObject {
      readonly metadata: { readonly name: string; readonly generation: number }
      readonly status?: { readonly workers: number; readonly observedGeneration: number }
    }
    const listed = async <T>(path: string): Promise<readonly T[]> => (await admin.list(path)).items as unknown as T[]
    const known = new Set<string>()
    const env = kubeConfigEnv(own.kubernetes.kubeConfig())
    const world: World = {
      put: async (name, page, workers) => {
        const spec = { page, workers }
        if (known.has(name)) await admin.patch(`${api}/${name}`, { spec })
        else await admin.create(api, { apiVersion: 'example.com/v1', kind: 'Site', metadata: { name }, spec })
        known.add(name)
      },
      remove: (name) => admin.delete(`${api}/${name}`),
      kill: (name, n) => admin.delete(`${core}/pods/${name}-${n}`),
      state: async () => {
        const sites = await listed<SiteObject>(api)
        const pods = await listed<{ readonly metadata: { readonly name: string } }>(`${core}/pods`)
        const pages = await listed<{
          readonly metadata: { readonly name: string }
          readonly data?: Record<string, string>
        }>(`${core}/configmaps`)
        const pageOf = new Map(pages.map(({ metadata, data }) => [metadata.name, data?.['index.html']]))
        const numbersOf = (site: string): number[] =>
          pods
            .flatMap(({ metadata: { name } }) =>
              name.startsWith(`${site}-`) ? [Number(name.slice(site.length + 1))] : [],
            )
            .sort((a, b) => a - b)
        // A page or a pod without its site is a site that should not be.
        const names = new Set([
          ...sites.map(({ metadata }) => metadata.name),
          ...[...pageOf.keys()].filter((name) => !name.startsWith('kube-')),
          ...pods.map(({ metadata }) => metadata.name.replace(/-\d+$/, '')),
        ])
        const byName = new Map(sites.map((site) => [site.metadata.name, site]))
        return Object.fromEntries(
          Array.from(names, (name) => {
            const { metadata, status } = byName.get(name) ?? {}
            const isCurrent = status !== undefined && status.observedGeneration === metadata?.generation
            return [
              name,
              { page: pageOf.get(name) ?? '', workers: numbersOf(name), status: isCurrent ? status.workers : -1 },
            ]
          }),
        )
      },
    }
    await survives(world, (count) => replicas('operator.ts', count, env))
    const events = await listed<{ readonly reason?: string }>(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`)
    expect(events.some(({ reason }) => reason === 'Created')).toBe(true)
  })
})

describeServer('postgres 18', 'examples/site-operator/postgres-operator.ts', useServer, (at) => {
  test('has the workers of each site, although replicas are killed', async () => {
    const db = await at.installed(textOf(join(FOLDER, 'schema.sql')), 'sites')
    await db.install('workers')
    await installLeases(await db.connect())
    const client = await db.connect()
    const world: World = {
      put: async (name, page, workers) => {
        const upsert = 'ON CONFLICT (name) DO UPDATE SET page = $2, workers = $3'
        await client.query(`INSERT INTO sites (name, page, workers) VALUES ($1, $2, $3) ${upsert}`, [
          name,
          page,
          workers,
        ])
      },
      remove: async (name) => void (await client.query('UPDATE sites SET deleted = true WHERE name = $1', [name])),
      kill: async (name, n) => void (await client.query('DELETE FROM workers WHERE site = $1 AND n = $2', [name, n])),
      state: async () => {
        const { rows } = await client.query<{
          name: string
          page: string
          numbers: number[]
          running: number | null
          pages: string[]
        }>(
          `SELECT coalesce(name, site) AS name, sites.page, coalesce(running, -1) AS running,
             coalesce(array_agg(n ORDER BY n) FILTER (WHERE n IS NOT NULL), '{}') AS numbers,
             coalesce(array_agg(DISTINCT workers.page) FILTER (WHERE n IS NOT NULL), '{}') AS pages
           FROM sites FULL JOIN workers ON name = site GROUP BY 1, 2, 3`,
        )
        return Object.fromEntries(
          rows.map(({ name, page, numbers, running, pages }) => [
            name,
            {
              page: pages.every((each) => each === page) ? page : pages.join(),
              workers: numbers,
              status: running ?? -1,
            },
          ]),
        )
      },
    }
    const DATABASE_URL = urlOf(db)
    await survives(world, (count) => replicas('postgres-operator.ts', count, { DATABASE_URL }))
  })
})
