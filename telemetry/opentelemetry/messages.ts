import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Status } from '../../src/contract/status.js'
import type { HandlerMessage, RunMessage } from '../../src/util/telemetry.js'

export interface Messages {
  readonly 'listwatch:status': {
    readonly informer: string
    readonly source: string
    readonly status: Status
    readonly previous: Status
  }
  readonly 'listwatch:apply': { readonly informer: string; readonly source: string }
  readonly 'listwatch:batch': {
    readonly informer: string
    readonly source: string
    readonly origin: 'initial' | 'watch' | 'relist' | 'access-lost'
    readonly changes: number
    readonly version: string | undefined
    readonly position: string | undefined
    readonly lagMs: number | undefined
  }
  readonly 'listwatch:handler': HandlerMessage
  readonly 'listwatch:reconcile:start': RunMessage
  readonly 'listwatch:reconcile:end': RunMessage
}

/** Calls `listener` for each message of a channel. Returns a function that removes it. */
export function listen<Channel extends keyof Messages>(
  channel: Channel,
  listener: (message: Messages[Channel]) => void,
): () => void {
  const receive = (message: unknown): void => listener(message as Messages[Channel])
  subscribe(channel, receive)
  return () => void unsubscribe(channel, receive)
}
