import { resolve } from 'node:path'
import { wallNowOf } from '../../src/contract/clock.js'
import { OptionError } from '../../src/contract/errors.js'
import type { MirrorCache, MirrorCacheContext } from '../../src/contract/mirror-cache.js'
import {
  checkOptions,
  isBoolean,
  isName,
  isPositive,
  isString,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { KEY_BYTES } from './block-cipher.js'
import { UnusableFile } from './block-format.js'
import { type Files, isSystemError, openForReading, realFiles, reasonOf, removeFile, replaceFile } from './files.js'
import { type OpenedFile, readHeader, savedMirror } from './mirror-reader.js'
import { writeMirror } from './mirror-writer.js'

/**
 * The options of `fileCache`.
 *
 * @example
 * ```ts
 * import { fileCache } from 'listwatch/file-cache'
 *
 * const cache = fileCache({
 *   path: '/var/cache/shop/orders.cache',
 *   cacheVersion: '2', // Another one for each change of `transform`.
 *   saveEveryMs: 30_000, // Default: 60 000.
 *   encryptionKey: Buffer.from(process.env['CACHE_KEY'] ?? '', 'hex'), // 32 bytes. Default: no encryption.
 * })
 * const informer = createInformer({ source, cache, transform: ({ id, total }: Order) => ({ id, total }) })
 * ```
 */
export interface FileCacheOptions {
  /** The file. Its folder must exist. Each informer needs a file of its own. */
  readonly path: string
  /**
   * Change it when `schema`, `transform` or a decoder returns other objects than before, or an index function other
   * values: a file of another `cacheVersion` is not used. Default: ''.
   */
  readonly cacheVersion?: string
  /** Whether readers see the saved objects before the source has confirmed them. Default: false. */
  readonly serveStale?: boolean
  /** A save begins at the earliest after this time since the last one, in milliseconds. Default: 60 000. */
  readonly saveEveryMs?: number
  /**
   * A save begins if at least this share of the objects has changed since the last one. Default: 0.1, which is 10 %.
   */
  readonly saveAfterShare?: number
  /** A save begins after this time in milliseconds, if the version has changed since the last one. Default: 600 000. */
  readonly maxAgeMs?: number
  /** A key of 32 bytes. The file is encrypted with AES-256-GCM. Default: it is not encrypted. */
  readonly encryptionKey?: Uint8Array
  /** Allows objects of a source of secrets, such as `Secret`s of Kubernetes. Default: false. */
  readonly secrets?: boolean
}

const isKey: OptionCheck = (value) =>
  value instanceof Uint8Array && value.length === KEY_BYTES ? undefined : `must be a Uint8Array of ${KEY_BYTES} bytes`

const checks: Readonly<Record<keyof FileCacheOptions, OptionCheck>> = {
  path: isName,
  cacheVersion: isString,
  serveStale: isBoolean,
  saveEveryMs: isPositive,
  saveAfterShare: isPositive,
  maxAgeMs: isPositive,
  encryptionKey: isKey,
  secrets: isBoolean,
}

/**
 * Returns a cache that keeps the content of one informer in a file. After a restart, the informer resumes its watch at
 * the saved version, instead of listing. A file that is missing, damaged, or of another source costs one list.
 *
 * @returns The cache, for the option `cache` of `createInformer`.
 * @throws OptionError if an option is missing or wrong.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { fileCache } from 'listwatch/file-cache'
 *
 * const orders = createInformer({ source, cache: fileCache({ path: '/var/cache/shop/orders.cache' }) })
 * ```
 */
export function fileCache(options: FileCacheOptions): MirrorCache {
  return fileCacheOn(realFiles, options)
}

/** @internal `fileCache` with other operations on files, for tests. */
export function fileCacheOn(files: Files, options: FileCacheOptions): MirrorCache {
  checkOptions('fileCache', options, checks)
  if (options?.path === undefined) throw new OptionError('fileCache: option "path" is required', { option: 'path' })
  const { cacheVersion = '', secrets = false } = options
  const path = resolve(options.path)
  const encryptionKey = options.encryptionKey?.slice()
  const assertAllowed = ({ isSensitive }: MirrorCacheContext): void => {
    if (!isSensitive || secrets) return
    throw new OptionError(
      `fileCache: the source has secrets, and ${path} would contain them; allow it with secrets: true`,
      { option: 'secrets' },
    )
  }
  return {
    name: `file:${path}`,
    serveStale: options.serveStale ?? false,
    saveEveryMs: options.saveEveryMs ?? 60_000,
    saveAfterShare: options.saveAfterShare ?? 0.1,
    maxAgeMs: options.maxAgeMs ?? 600_000,
    async open(context) {
      assertAllowed(context)
      try {
        const file = await openFile(files, path, { cacheVersion, encryptionKey, fingerprint: context.fingerprint })
        return file && savedMirror(file, path)
      } catch (error) {
        context.warn(`the file is not used: ${reasonOf(error, path)}`)
        return undefined
      }
    },
    async save(mirror, context) {
      assertAllowed(context)
      const { clock, signal, fingerprint } = context
      const identity = { fingerprint, cacheVersion, savedAt: wallNowOf(clock) }
      const writer = { path, clock, signal, encryptionKey }
      await replaceFile(path, files, signal, (file) => writeMirror(file, mirror, identity, writer))
    },
    discard: () => removeFile(path),
  }
}

interface Expected {
  readonly cacheVersion: string
  readonly fingerprint: string
  readonly encryptionKey: Uint8Array | undefined
}

/** Returns undefined if nothing was saved yet. Throws if the file cannot be used. */
async function openFile(files: Files, path: string, expected: Expected): Promise<OpenedFile | undefined> {
  const handle = await openForReading(path, files).catch((error: unknown) => {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined
    throw error
  })
  if (handle === undefined) return undefined
  try {
    const file = await readHeader(handle, expected.encryptionKey)
    const { cacheVersion, fingerprint } = file.header
    if (cacheVersion !== expected.cacheVersion) throw new UnusableFile('its cacheVersion is another one')
    if (fingerprint !== expected.fingerprint)
      throw new UnusableFile('it was saved from another source, or with other options')
    return file
  } catch (error) {
    await handle.close().catch(() => {})
    throw error
  }
}
