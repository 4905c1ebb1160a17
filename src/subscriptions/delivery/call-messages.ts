import { type CallResult, channels, type RunMessage } from '../../util/telemetry.js'
import type { Feed } from '../feed.js'

export interface ObservedRun {
  /** Calls the function of the controller, in the context of the subscribers. */
  call<R>(run: () => R): R
  ended(result: CallResult, error?: unknown): void
}

/** Publishes the start of a run. Returns undefined if nothing subscribes to such messages. */
export function observedRun<T>(
  { informer, name, host }: Feed<T>,
  run: Pick<RunMessage, 'key' | 'attempt' | 'cause'>,
): ObservedRun | undefined {
  if (!channels.runStart.hasSubscribers) return undefined
  const since = host.clock.now()
  const unset = { around: undefined, durationMs: 0, result: 'success', error: undefined } as const
  const message: RunMessage = { informer, controller: name, ...run, ...unset }
  channels.runStart.publish(message)
  return {
    call: (run) => (message.around === undefined ? run() : message.around(run)),
    ended(result, error) {
      message.durationMs = host.clock.now() - since
      message.result = result
      message.error = error
      channels.runEnd.publish(message)
    },
  }
}

/** Names the likely reason for which a function hangs during a drain. */
export function drainHint<T>({ isDraining }: Feed<T>): string {
  return isDraining ? '; a drain waits for it: a function must not await the drain of its own subscription' : ''
}
