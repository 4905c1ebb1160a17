import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { PackedContent, SavedMirror, SavedRecord } from '../contract/mirror-cache.js'
import type { Random } from '../contract/random.js'
import type { Version } from '../contract/version.js'
import type { ReflectorState } from './reflector-state.js'

export interface ReflectorOptions {
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

export type AuditRequest = 'versions' | 'contents' | 'proof'

export interface ReflectorHooks {
  /** The cache; without it the mirror starts with a list. */
  readonly warmStart?: WarmStart | undefined
  /** Names the mirror in messages. Default: the name of the source. */
  readonly title?: string
  onStateChange?(state: ReflectorState, previous: ReflectorState): void
  /** A list or a watch failed. Called before `onError`, whose message says what happens next. */
  onFailure?(error: SourceError): void
  onError?(error: SourceError): void
  /** The source reports a problem that does not stop it. */
  onWarning?(message: string): void
  /** A batch, or a whole list, is about to be written to the sink. */
  onWrite?(): void
  /** `proof`: the watch cannot report its position, and a wait for a version is pending. Others: by the source. */
  onAuditRequest?(of: AuditRequest): void
  onDuplicate?(version: Version): void
  hasWaiters?(): boolean
  /** Resolves with a function that releases the slot; undefined if the relist may begin at once. */
  acquireRelistSlot?(signal: AbortSignal): Promise<() => void> | undefined
}

export interface WarmStart {
  /** Whether readers see the saved content before the source has confirmed it. */
  readonly servesStale: boolean
  /** Opens the content that was saved last. `alive` is called when that makes progress. */
  open(signal: AbortSignal, alive: () => void): Promise<SavedMirror | undefined>
  /** Shows packed content to readers, and fills the store with it. Throws if it is damaged. */
  serve(saved: SavedMirror, content: PackedContent): ServedContent
  restore(saved: SavedMirror): RestoreTransaction
  warn(message: string): void
}

/** Packed content that readers see while the store is filled with it. */
export interface ServedContent {
  readonly shown: Promise<void>
  /** Settles when the store is filled, so that it can be listed and written. */
  readonly filled: Promise<void>
  /** Resolves when the content is not read any more. */
  readonly released: Promise<void>
}

/** Saved content that is being written to the store. It is not visible before `commit`. */
export interface RestoreTransaction {
  page(records: readonly SavedRecord[]): void | Promise<void>
  commit(): void | Promise<void>
  abandon(): void
}
