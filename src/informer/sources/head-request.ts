import { ABORTED, OptionError, SourceError, type SourceErrorCode, toSourceError } from '../../contract/errors.js'
import { LIST_STALL_MS, type ListerWatcher, type SourceContext } from '../../contract/source.js'
import { assertVersion, type Version } from '../../contract/version.js'
import { Attempt } from '../../reflector/attempt.js'
import { backoff, drawDelay, grown } from '../../reflector/backoff.js'
import type { OnOtherEpoch } from '../../subscriptions/version-waiters.js'
import type { Settle } from '../../util/deadline.js'

/** The first retry is sent after 0.5 to 1 times this delay, in milliseconds. Each later delay is twice as long. */
const INITIAL_DELAY_MS = 200
const MAX_DELAY_MS = 5_000
const OLDER = 'the source is older than the mirror: it was restored, or is behind'
/** A retry is of no use before the program or the source is changed. */
const PERMANENT: ReadonlySet<SourceErrorCode> = new Set(['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL', 'STOPPED'])

/** The context of a request for the head; `shown` is the version of the mirror, if its history is current. */
export interface HeadContext extends SourceContext {
  readonly shown: () => Version | undefined
}

/**
 * Transient errors are passed to `onFailure`, and the request is retried. So is a head that is older than the mirror
 * was before the request. Returns undefined if the signal aborts, or if the source has no head.
 */
export async function requestHead<T>(
  source: ListerWatcher<T>,
  { shown, ...context }: HeadContext,
  onFailure: (error: SourceError) => void,
): Promise<Version | undefined> {
  const { signal, clock, random } = context
  for (let delay = backoff(INITIAL_DELAY_MS, MAX_DELAY_MS); !signal.aborted; delay = grown(delay)) {
    try {
      const before = shown()
      const head = await headOnce(source, context)
      if (head === undefined || before === undefined || !isOlder(source, head, before)) return head
      throw new SourceError(OLDER, { code: 'UNAVAILABLE' })
    } catch (thrown) {
      if (signal.aborted) break
      if (thrown instanceof OptionError) throw thrown
      const error = toSourceError(thrown, { phase: 'watch', source: source.name })
      if (PERMANENT.has(error.code)) throw error
      onFailure(error)
      const delayMs = Math.max(drawDelay(delay, random), error.retryAfterMs ?? 0)
      await clock.sleep(delayMs, signal).catch(() => {}) // Aborted.
    }
  }
  return undefined
}

/** A source may be unable to compare its heads. */
function isOlder<T>(source: ListerWatcher<T>, head: Version, before: Version): boolean {
  try {
    return source.hasReached?.(before, head) === true && !source.hasReached(head, before)
  } catch {
    return false
  }
}

/** Rejects with `UNAVAILABLE` if no response arrives in time. */
export async function headOnce<T>(source: ListerWatcher<T>, context: SourceContext): Promise<Version | undefined> {
  const attempt = new Attempt(context.clock)
  const end = (): void => attempt.abort(context.signal.reason)
  context.signal.addEventListener('abort', end, { once: true })
  const silent = `no head for ${LIST_STALL_MS / 1_000} s`
  void attempt.watchdog(LIST_STALL_MS, () => new SourceError(silent, { code: 'UNAVAILABLE' }))
  try {
    const head = await attempt.race(Promise.resolve(source.head?.({ ...context, signal: attempt.signal })))
    if (source.head !== undefined) assertVersion(head, 'the head of the source')
    return head
  } finally {
    context.signal.removeEventListener('abort', end)
    attempt.abort(ABORTED)
  }
}

/**
 * Decides about waits for marks of another epoch than that of the store. The source may be in that epoch already,
 * before the store shows it. The head of the source, read after the wait began, shows the epoch of the source. If it
 * cannot be read now, the wait continues. After an abort of the signal in `context`, nothing is decided.
 */
export function epochCheck(source: ListerWatcher<unknown>, context: SourceContext, mirror: () => object): OnOtherEpoch {
  /** Waits that began after the last read of the head. */
  const waiting = new Map<Settle<void>, { readonly mark: Version; readonly error: unknown }>()
  let isReading = false
  const isOther = (head: Version | undefined, mark: Version): boolean => {
    if (head === undefined) return false
    try {
      source.hasReached?.(head, mark)
      return false
    } catch {
      return true
    }
  }
  /** One request at a time, for all waits that began before it. */
  const readHead = async (): Promise<void> => {
    isReading = true
    while (waiting.size > 0 && !context.signal.aborted) {
      const asked = [...waiting]
      waiting.clear()
      try {
        const head = await headOnce(source, { ...context, mirror: mirror() })
        for (const [settle, { mark, error }] of asked) if (isOther(head, mark)) settle.reject(error)
      } catch {
        // Requested again after the next batch or list.
      }
    }
    isReading = false
  }
  return (settle, mark, error) => {
    if (context.signal.aborted) return
    waiting.set(settle, { mark, error })
    if (!isReading) void readHead()
  }
}
