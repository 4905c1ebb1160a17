import type { MirrorCache } from 'listwatch/adapter'
export interface FileCacheOptions {
  readonly cacheVersion?: string
  readonly encryptionKey?: Uint8Array
  readonly maxAgeMs?: number
  readonly path: string
  readonly saveAfterShare?: number
  readonly saveEveryMs?: number
  readonly secrets?: boolean
  readonly serveStale?: boolean
}
export declare function fileCache(options: FileCacheOptions): MirrorCache
