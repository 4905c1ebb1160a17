import { isOtherFormat, type OpenedSnapshot, openedSnapshotOf } from './shared-snapshot.js'

/** The bytes of frames that one watch may have on their way. A reader that does not read holds no more. */
export const WINDOW_BYTES: number = 256 * 1024
/** The address of all requests. Only its path has a meaning. */
export const BASE_URL = 'http://share'

/** A message of a follower. */
export type FollowerMessage =
  | { readonly type: 'request'; readonly id: number; readonly path: string }
  /** A request for a snapshot. */
  | { readonly type: 'open'; readonly id: number }
  /** The reader has taken this many bytes of frames. */
  | { readonly type: 'read'; readonly id: number; readonly bytes: number }
  | { readonly type: 'abort'; readonly id: number }

/** A message to a follower. */
export type ShareMessage =
  | ResponseMessage
  | { readonly type: 'frame'; readonly id: number; readonly bytes: Uint8Array }
  /** The end of a response with frames. */
  | { readonly type: 'end'; readonly id: number }
  /** A snapshot is being packed. */
  | { readonly type: 'alive'; readonly id: number }
  | OpenedMessage

/** The response to a request for a snapshot, if there is one. */
export interface OpenedMessage {
  readonly type: 'opened'
  readonly id: number
  readonly snapshot?: OpenedSnapshot | undefined
}

/** The beginning of a response. Without `body`, frames and an end follow. */
export interface ResponseMessage {
  readonly type: 'response'
  readonly id: number
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: Uint8Array
}

/** Returns undefined for a message of another program. */
export function followerMessage(received: unknown): FollowerMessage | undefined {
  const { type, id, path, bytes }: Readonly<Record<string, unknown>> = Object(received)
  if (typeof id !== 'number') return undefined
  if (type === 'request' && typeof path === 'string') return { type, id, path }
  if (type === 'read' && typeof bytes === 'number') return { type, id, bytes }
  return type === 'open' || type === 'abort' ? { type, id } : undefined
}

/** Returns undefined for a message that no share sends. */
export function shareMessage(received: unknown): ShareMessage | undefined {
  const { type, id, bytes, status, headers, body, snapshot }: Readonly<Record<string, unknown>> = Object(received)
  if (typeof id !== 'number') return undefined
  if (type === 'frame' && bytes instanceof Uint8Array) return { type, id, bytes }
  if (type === 'end' || type === 'alive') return { type, id }
  if (type === 'opened') {
    if (isOtherFormat(snapshot)) return { type, id } // The follower lists.
    const opened = openedSnapshotOf(snapshot)
    return opened === undefined && snapshot !== undefined ? undefined : { type, id, snapshot: opened }
  }
  if (type !== 'response' || typeof status !== 'number' || !Array.isArray(headers)) return undefined
  return { type, id, status, headers, ...(body instanceof Uint8Array && { body }) }
}
