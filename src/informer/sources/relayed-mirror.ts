import type { SavedMirror } from '../../contract/mirror-cache.js'
import type { ListerWatcher } from '../../contract/source.js'

/** The mirror of one source, as a relay of it needs it. */
export interface RelayedMirror {
  readonly source: ListerWatcher<unknown>
  /** Names the source, its selection, and the functions that change its objects. */
  readonly fingerprint: string
  /** What a later process needs to resume the watch. */
  readonly resumeState: string | undefined
  /** The saved content with which it began; undefined if it began with a list. */
  readonly restored: SavedMirror | undefined
  /** Whether the store lacks keys that `transform` has filtered out. */
  readonly hasFiltered: boolean
  /** What happens to its objects after lost access. */
  readonly onAccessLost: 'keep' | 'clear'
}
