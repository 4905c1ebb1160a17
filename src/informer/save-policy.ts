import type { MirrorCache } from '../contract/mirror-cache.js'

/** The changes since the last save. */
export interface Unsaved {
  /** When the last save began, in milliseconds since the Unix epoch; undefined if nothing was saved. */
  readonly savedAt: number | undefined
  /** Whether the version of the mirror differs from that of the last save. */
  readonly hasMoved: boolean
  /** The number of changes since then; infinite if the last save failed. */
  readonly changes: number
  /** The number of objects. */
  readonly size: number
}

/** Returns when the next save begins; undefined if there is nothing to save. */
export function nextSaveAt(
  { saveEveryMs, saveAfterShare, maxAgeMs }: Pick<MirrorCache, 'saveEveryMs' | 'saveAfterShare' | 'maxAgeMs'>,
  { savedAt, hasMoved, changes, size }: Unsaved,
): number | undefined {
  if (!hasMoved) return undefined
  if (savedAt === undefined) return -Infinity
  const isEnough = changes > 0 && changes >= saveAfterShare * size
  return savedAt + (isEnough ? saveEveryMs : Math.max(saveEveryMs, maxAgeMs))
}
