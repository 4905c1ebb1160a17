import type { Clock, LeaseRecord, Leases, RelayStore } from 'listwatch/adapter'
import type { ListerWatcher, SourceError, Version } from 'listwatch'
export { LeaseOptions } from 'listwatch/etcd'
export type LeaseFault = 'lost request' | 'lost reply' | 'late request' | 'late reply'
export interface MemoryDatabase {
  collection<T>(name: string, entries?: Iterable<readonly [string, T]>): ListerWatcher<T>
  commit(fn: (tx: MemoryTransaction) => void): Version
  compact(): void
  disconnect(): void
  fail(error: SourceError, times?: number): void
  restore(fn: (tx: MemoryTransaction) => void): Version
  stall(): void
}
export interface MemoryDatabaseOptions {} // docs/reference/options.md
export interface MemoryLeases extends Leases {
  readonly records: readonly LeaseRecord[]
  deliver(): void
  disturb(fault: LeaseFault, times?: number): void
  fork(writes?: number): void
  setAvailable(isAvailable: boolean): void
}
export interface MemoryLeasesOptions extends LeaseOptions {} // docs/reference/options.md
export interface MemoryRelayStore extends RelayStore {
  readonly collection: MemorySource<string>; readonly texts: ReadonlyMap<string, string>
  deliver(): void
  disturb(fault: RelayFault, times?: number): void
  flush(): void
  fork(writes?: number): void
  setAvailable(isAvailable: boolean): void
}
export interface MemoryRelayStoreOptions {} // docs/reference/options.md
export interface MemorySource<T> extends ListerWatcher<T> {
  compact(): void
  corrupt(key: string, error: unknown): Version
  delete(key: string): Version
  disconnect(): void
  fail(error: SourceError, times?: number): void
  hasReached(at: Version, mark: Version): boolean
  head(): Promise<Version>
  put(key: string, object: T): Version
  restore(entries: Iterable<readonly [string, T]>): Version
  stall(): void
  transaction(fn: (tx: { put(key: string, object: T): void; delete(key: string): void }) => void): Version
}
export interface MemorySourceOptions<T> {} // docs/reference/options.md
export interface MemoryTransaction {
  delete(collection: ListerWatcher<unknown>, key: string): void
  put<T>(collection: ListerWatcher<T>, key: string, object: T): void
}
export type RelayFault = 'lost request' | 'lost reply' | 'late request'
export declare function memoryDatabase(options?: MemoryDatabaseOptions): MemoryDatabase
export declare function memoryLeases(options: MemoryLeasesOptions): MemoryLeases
export declare function memoryRelayStore(options?: MemoryRelayStoreOptions): MemoryRelayStore
export declare function memorySource<T>(options?: MemorySourceOptions<T>): MemorySource<T>
