import type { Clock, Leases, Random, RelayStore } from 'listwatch/adapter'
import type { Controller, Informer, ListerWatcher, ReconcileContext, ReconcileOptions, SourceError,
    Version } from 'listwatch'
export { MemorySource, MemorySourceOptions, memorySource } from 'listwatch/memory'
export type CommitTransaction = () => Promise<Version | undefined> | Version | undefined
export type ConformanceCapability = 'transactions' | 'openTransactions' | 'bigObjects' | 'compaction' | 'epochs' |
    'corruption' | 'outage' | 'connections' | 'head' | 'hasReached' | 'versions' | 'progressRequests' | 'ownHeap'
export interface ConformanceCase {
  readonly name: string; readonly needs: readonly ConformanceCapability[]; readonly theme: string
  run(harness: ListerWatcherHarness<unknown>): Promise<ConformanceOutcome>
}
export interface ConformanceChange { readonly key: string; readonly value: string | undefined }
export interface ConformanceOptions {} // docs/reference/options.md
export type ConformanceOutcome = { readonly type: 'passed' } | { readonly type: 'skipped'; readonly reason: string }
export interface LeasesCase {
  readonly name: string; readonly needsHints: boolean
  run(harness: LeasesHarness): Promise<void>
}
export interface LeasesHarness {
  readonly timeoutMs?: number; readonly withoutHints?: string
  create(group: string): Leases | Promise<Leases>
}
export interface ListerWatcherHarness<T> {
  readonly timeoutMs?: number | undefined
  readonly unsupported?: Readonly<Partial<Record<ConformanceCapability, string>>> | undefined
  create(options: ConformanceOptions): ListerWatcherSubject<T> | Promise<ListerWatcherSubject<T>>
}
export interface ListerWatcherSubject<T> {
  readonly source: ListerWatcher<T>
  begin?(changes: readonly ConformanceChange[]): Promise<CommitTransaction> | CommitTransaction
  compact?(): Promise<void> | void
  connections?(): Promise<number> | number
  corrupt?(key: string): Promise<void> | void
  disconnect?(): Promise<void> | void
  dispose?(): PromiseLike<void> | void
  keyOf?(key: string): string
  read(object: T): string
  refuses?(key: string): string | undefined
  restore?(): Promise<void> | void
  write(changes: readonly ConformanceChange[]): Promise<Version | undefined> | Version | undefined
}
export interface RelayStoreCase { readonly name: string; run(harness: RelayStoreHarness): Promise<void> }
export interface RelayStoreHarness {
  readonly timeoutMs?: number
  create(name: string): RelayStore | Promise<RelayStore>
  remove(name: string): Promise<void>
}
export declare class SeededRandom implements Random {
  constructor(seed: number)
  below(below: number): number
  chance(probability: number): boolean
  next(): number
  pick<T>(from: readonly T[]): T
}
export interface SharedHistorySubject {
  readonly sources: readonly [ListerWatcher<unknown>, ListerWatcher<unknown>]
  dispose?(): Promise<void> | void
  keyOf?(key: string, to: 0 | 1): string
  write(changes: readonly { readonly to: 0 | 1; readonly key: string; readonly value: string }[]): Promise<unknown> |
      unknown
}
export interface TestController<T> extends AsyncDisposable {
  readonly clock: VirtualClock; readonly controller: Controller; readonly errors: readonly SourceError[]
  readonly informer: Informer<T>; readonly runs: readonly TestedRun<T>[]; readonly source: MemorySource<T>
  untilIdle(options?: { readonly limitMs?: number }): Promise<void>
}
export interface TestControllerOptions<T, W extends readonly unknown[] = readonly unknown[]> extends ReconcileOptions<T, {}, W> {} // docs/reference/options.md
export interface TestedRun<T> extends Omit<ReconcileContext<T>, 'signal' | 'requeueAfter'> {
  readonly key: string; readonly result: 'success' | 'failure' | undefined
}
export declare class VirtualClock implements Clock {
  constructor(start?: number)
  get sleeping(): number
  advance(ms: number): Promise<void>
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}
export declare const conformanceCases: readonly ConformanceCase[]
export declare function describeListerWatcher<T>(name: string, harness: ListerWatcherHarness<T>): Promise<void>
export declare function describeSharedHistory(name: string, create: () => SharedHistorySubject |
    Promise<SharedHistorySubject>): Promise<void>
export declare const leasesCases: readonly LeasesCase[]
export declare function leasesConformance(name: string, harness: LeasesHarness): Promise<void>
export declare const relayStoreCases: readonly RelayStoreCase[]
export declare function relayStoreConformance(name: string, harness: RelayStoreHarness): Promise<void>
export declare function testController<T,
    const W extends readonly unknown[] = readonly [ ]>(settings: TestControllerOptions<T, W>): TestController<T>
