import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/contract/clock.js'
import type {
  MirrorCache,
  MirrorCacheContext,
  MirrorToSave,
  SavedMirror,
  SavedRecord,
} from '../../src/contract/mirror-cache.js'
import { packerOf, recordsOf } from '../support/packed.js'

export interface TestContext extends MirrorCacheContext {
  /** What the cache has warned of. */
  readonly warnings: string[]
}

/** A folder that is removed after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'file-cache-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export function contextOf(changes: Partial<MirrorCacheContext> = {}): TestContext {
  const warnings: string[] = []
  return {
    signal: new AbortController().signal,
    clock: systemClock,
    fingerprint: 'memory:t',
    isSensitive: false,
    warn: (message) => void warnings.push(message),
    warnings,
    ...changes,
  }
}

/** A mirror with these records. */
export function mirrorOf(
  records: readonly SavedRecord[],
  header: Partial<Omit<MirrorToSave, 'size' | 'records' | 'pack'>> = {},
): MirrorToSave {
  return { version: '1', ...header, size: records.length, records: () => records, pack: packerOf(() => records) }
}

export function entries(count: number, generation = 0): SavedRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    type: 'entry',
    key: `key-${i}`,
    object: { i, generation, text: 'x'.repeat(60) },
    version: String(i),
  }))
}

/** The header and all records of saved content. */
export interface Loaded extends Omit<SavedMirror, 'pages' | 'packed' | 'close'> {
  readonly records: readonly SavedRecord[]
}

/** Opens a cache and reads all. Undefined if nothing can be used; throws if records are damaged. */
export async function load(cache: MirrorCache, context: MirrorCacheContext = contextOf()): Promise<Loaded | undefined> {
  const saved = await cache.open(context)
  if (saved === undefined) return undefined
  await using _ = { [Symbol.asyncDispose]: () => saved.close() }
  const records = await recordsOf(saved)
  const { packed: _packed, close: _close, ...header } = saved
  return { ...header, records }
}

/** Loads a file that may be damaged. The second value is the reason why it was not used. */
export async function tryLoad(cache: MirrorCache): Promise<readonly [Loaded | undefined, string | undefined]> {
  const context = contextOf()
  try {
    return [await load(cache, context), context.warnings.join('; ') || undefined]
  } catch (error) {
    return [undefined, error instanceof Error ? error.message : String(error)]
  }
}

export function temporaries(path: string): string[] {
  return readdirSync(path).filter((name) => name.endsWith('.tmp'))
}
