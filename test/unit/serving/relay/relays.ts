import { afterEach, beforeEach } from 'vitest'
import {
  type MemoryRelayStore,
  type MemoryRelayStoreOptions,
  type MemorySource,
  memoryRelayStore,
  memorySource,
} from '../../../../adapters/memory/index.js'
import {
  type RelayServing,
  relayCache,
  relaySource,
  type ServeRelayOptions,
  serveRelay,
} from '../../../../serving/relay/index.js'
import type { LeaseSession, Leases, MirrorCache, Random, RelayStore } from '../../../../src/adapter.js'
import { type Change, createInformer, type Informer, type ListerWatcher, SourceError } from '../../../../src/index.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'

export type Item = { readonly n: unknown }

export const clock = new VirtualClock()
let numbers = new SeededRandom(1)
export const random: Random = { next: () => numbers.next() }
export const context = { signal: new AbortController().signal, clock, random }
const stops: (() => Promise<void>)[] = []

/** Each test of the file that calls this begins with the same random numbers, and stops its relays and followers. */
export function useRelays(): void {
  beforeEach(() => (numbers = new SeededRandom(1)))

  afterEach(async () => {
    await meanwhile(30_000, Promise.all(stops.splice(0).map((stop) => stop())))
  })
}

/** Waits for a promise while the time passes. */
export async function meanwhile(ms: number, promise: Promise<unknown>): Promise<void> {
  await Promise.all([promise, clock.advance(ms)])
}

export interface RelayProcess {
  readonly informer: Informer<Item>
  readonly relay: RelayServing
  readonly errors: SourceError[]
  readonly warnings: string[]
  stop(): Promise<void>
}

interface RelayOptions extends ServeRelayOptions {
  readonly onAccessLost?: 'keep' | 'clear'
  /** `undefined`: the mirror starts without a cache. */
  readonly cache?: MirrorCache | undefined
  readonly transform?: (item: Item) => Item
}

/** A relay with a mirror of its own. */
export function relayOf(source: ListerWatcher<Item>, store: RelayStore, given: RelayOptions = {}): RelayProcess {
  const { onAccessLost = 'keep', cache, transform, ...options } = { cache: relayCache(store), ...given }
  const warnings: string[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) }
  const own = { ...(cache && { cache }), ...(transform && { transform }) }
  const informer = createInformer({ source, clock, random, onAccessLost, logger, ...own })
  return { ...relayFrom(informer, store, options), warnings }
}

/** A relay of a mirror, which is started. */
export function relayFrom(informer: Informer<Item>, store: RelayStore, options: ServeRelayOptions = {}) {
  const relay = serveRelay(informer, store, { clock, random, ...options })
  const errors: SourceError[] = []
  relay.on('error', (error) => errors.push(error))
  informer.start()
  const stop = async (): Promise<void> => {
    await relay.stop()
    await informer.stop()
  }
  stops.push(stop)
  return { informer, relay, errors, stop }
}

/** A store as another process opens it, some members of which are replaced. */
export function storeOf(store: MemoryRelayStore, replaced: Partial<RelayStore> = {}): RelayStore {
  const { name, collection, maxChanges, maxBytes } = store
  return {
    name,
    collection,
    maxChanges,
    maxBytes,
    read: (...args) => store.read(...args),
    write: (...args) => store.write(...args),
    close: async () => {},
    ...replaced,
  }
}

/** A relay in a process that can end without a clean stop: nothing of it is written any more. */
export function mortalRelay(source: ListerWatcher<Item>, store: MemoryRelayStore, options: RelayOptions = {}) {
  let isKilled = false
  const write: RelayStore['write'] = (...args) => (isKilled ? new Promise(() => {}) : store.write(...args))
  const process = relayOf(source, storeOf(store, { write }), options)
  const kill = (): void => {
    isKilled = true
    void process.informer.stop()
    void process.relay.stop()
  }
  return { ...process, kill }
}

/** A follower of a store, which is started. */
export function followerOf(store: RelayStore, upstream?: MemorySource<Item>) {
  const source = relaySource<Item>({ store, ...(upstream && { upstream }) })
  const informer = createInformer({ source, clock, random })
  const changes: Change<Item>[] = []
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  const keep = (change: Change<Item>): void => {
    if (change.origin !== 'initial') changes.push(change)
  }
  informer.subscribe({ add: keep, update: keep, delete: keep })
  informer.start()
  stops.push(() => informer.stop())
  /** The changes as texts. */
  const told = (): string[] => changes.map(({ type, key }) => `${type} ${key}`)
  return { informer, changes, errors, told, content: () => contentOf(informer) }
}

export function contentOf(informer: Informer<Item>): Record<string, unknown> {
  return Object.fromEntries(Array.from(informer.entries(), ([key, { n }]) => [key, n]))
}

/** The content of a follower of a store, some time after its start. */
export async function contentAfter(store: RelayStore, ms: number, upstream?: MemorySource<Item>) {
  const follower = followerOf(store, upstream)
  await clock.advance(ms)
  return follower.content()
}

export function items(...keys: string[]): [string, Item][] {
  return keys.map((key) => [key, { n: 0 }])
}

/** A relay that is live over objects with these keys, and a follower. */
export async function relayed(
  keys: readonly string[],
  { heartbeatMs, ...options }: RelayOptions & MemoryRelayStoreOptions & { readonly heartbeatMs?: number } = {},
) {
  const { maxChanges, maxBytes, ...own } = options
  const entries = items(...keys)
  const source = memorySource<Item>({ entries, ...(heartbeatMs === undefined ? {} : { heartbeatMs }) })
  const store = memoryRelayStore({ ...(maxChanges && { maxChanges }), ...(maxBytes && { maxBytes }) })
  const first = mortalRelay(source, store, own)
  const follower = followerOf(store, source)
  await clock.advance(2_000)
  follower.errors.length = 0 // The follower began before the relay had written.
  return { source, store, first, follower }
}

/** The same, and the relay has ended. */
export async function relayedAndStopped(...given: Parameters<typeof relayed>) {
  const started = await relayed(...given)
  await meanwhile(2_000, started.first.stop())
  return started
}

/** Leases whose renewals are replaced. */
export function leasesWith(leases: Leases, renew: (session: LeaseSession) => LeaseSession['renew']): Leases {
  const { name, mode, leaseMs, renewMs } = leases
  const open = (): LeaseSession => {
    const session = leases.open()
    return { renew: renew(session), leave: (member) => session.leave(member), close: () => session.close() }
  }
  return { name, mode, leaseMs, renewMs, open }
}

export function noAccess(): SourceError {
  return new SourceError('no access', { code: 'UNAUTHORIZED' })
}
