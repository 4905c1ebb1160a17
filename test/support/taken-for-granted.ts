/** What the fragments in the documents take for granted, as a module of their reader's project: imports, and what surrounds them. */
export const TAKEN_FOR_GRANTED: string = `
import type { Compound, Equal, Informer, ListerWatcher as Source, Ordered, Subscription } from 'listwatch'
import type { ListEvent } from 'listwatch/adapter'
import type { PostgresSource } from 'listwatch/postgres'
import type { ConformanceCase } from 'listwatch/testing'
import type express from 'express'
import type { Server } from 'node:http'

interface OrderOfDocuments {
  readonly id: string; readonly tenant: string; readonly region: string | null; readonly tags: string[]
  readonly total: number; readonly paid: boolean; readonly status: string; readonly created_at: Date
}
interface Pod { readonly name: string; readonly node: string; readonly ownerId: string }
interface LimitOfDocuments { readonly tenant: string | undefined; readonly rps: number; readonly burst: number }
interface Tenant { readonly name: string; readonly country: string; readonly isActive: boolean }
interface Item { readonly orderId: string; readonly sku: string }
interface Policy { readonly id: string; readonly node: string }
interface Indexes {
  readonly tenant: Equal<Order, string>; readonly tag: Equal<Order, string>
  readonly total: Ordered<Order, number>; readonly latest: Compound<Order, readonly [string, Date]>
}

declare global {
  type Order = OrderOfDocuments
  type Limit = LimitOfDocuments
  const createInformer: typeof import('listwatch').createInformer
  const groupInformers: typeof import('listwatch').groupInformers
  type ListerWatcher<T> = Source<T>

  const source: PostgresSource<Order>
  const orders: Informer<Order, Indexes>
  const pods: Informer<Pod, { readonly node: Equal<Pod, string> }>
  const services: Informer<Pod, object>
  const tenants: Informer<Tenant, { readonly country: Equal<Tenant, string> }>
  const items: Informer<Item, { readonly order: Equal<Item, string> }>
  const policies: Informer<Policy, { readonly node: Equal<Policy, string> }>
  const owners: Informer<Pod, object>
  const limits: Informer<Limit, object>
  const theirs: Informer<V1Pod, object>
  const widgets: Informer<object, object>
  const jobs: Informer<{ readonly state: string }, object>
  const etcd: import('etcd3').Etcd3
  type V1Pod = import('@kubernetes/client-node').V1Pod
  type Wire<T> = import('listwatch/kubernetes').Wire<T>
  const kubeConfig: import('@kubernetes/client-node').KubeConfig
  const core: import('@kubernetes/client-node').CoreV1Api
  const pod: V1Pod
  const made: V1Pod
  const kubernetesSource: typeof import('listwatch/kubernetes').kubernetesSource
  const makeInformer: typeof import('listwatch/kubernetes').makeInformer
  const connection: import('@nats-io/transport-node').NatsConnection
  const natsKvSource: typeof import('listwatch/nats').natsKvSource
  const etcdSource: typeof import('listwatch/etcd').etcdSource
  const memorySource: typeof import('listwatch/memory').memorySource
  const mysqlSource: typeof import('listwatch/mysql').mysqlSource
  const sqliteSource: typeof import('listwatch/sqlite').sqliteSource
  const postgresSource: typeof import('listwatch/postgres').postgresSource
  const redisCollectionSource: typeof import('listwatch/redis').redisCollectionSource
  const redisKeysSource: typeof import('listwatch/redis').redisKeysSource
  const redisStreamSource: typeof import('listwatch/redis').redisStreamSource
  const redisWriter: typeof import('listwatch/redis').redisWriter
  const sourceSet: typeof import('listwatch').sourceSet
  const describeListerWatcher: typeof import('listwatch/testing').describeListerWatcher
  const VirtualClock: typeof import('listwatch/testing').VirtualClock
  const url: string
  const sub: Subscription
  const mark: string
  const signal: AbortSignal
  const tx: { query(text: string): Promise<{ rows: unknown[] }> }
  const app: express.Application
  const server: Server
  const pool: import('pg').Pool
  /** What a client of Prisma, and a database of Drizzle with node-postgres, have of this shape. */
  const prisma: {
    $transaction<V>(work: (tx: {
      $queryRawUnsafe<R>(text: string): Promise<R>
      readonly order: { create(row: { data: { tenant: string } }): Promise<{ id: string }> }
    }) => Promise<V>): Promise<V>
  }
  const ordersTable: { readonly tenant: unknown }
  const db: {
    transaction<V>(work: (tx: {
      execute(text: string): Promise<import('pg').QueryResult<Record<string, unknown>>>
      insert(table: object): { values(row: { tenant: string }): Promise<unknown> }
    }) => Promise<V>): Promise<V>
  }

  interface Country { readonly code: string; readonly name: string }
  interface Reading { readonly entries: readonly { readonly key: string; readonly object: Country }[]; readonly version: string }
  function read(signal: AbortSignal, known?: string): Promise<Reading | undefined>
  function makeItSo(key: string, order: Order | undefined): Promise<void>
  /** A backend that says when something was written. */
  const journal: {
    onWrite(listener: () => void): () => void
    since(version: string, signal: AbortSignal): Promise<import('listwatch/adapter').WatchBatch<Country>>
  }
  function ensureRunning(key: string): Promise<void>
  function sourceOf(region: string): Source<Pod>
  function send(changes: readonly object[]): void
  function log(...words: readonly (string | undefined)[]): void

  const mkdtemp: typeof import('node:fs/promises').mkdtemp
  const rm: typeof import('node:fs/promises').rm
  const join: typeof import('node:path').join
  const tmpdir: typeof import('node:os').tmpdir
  function folderSource<T>(folder: string, options?: { readonly pollMs?: number }): Source<T>
  function replaceFile(path: string, text: string): Promise<void>
  const harness: Parameters<ConformanceCase['run']>[0]
}
`
