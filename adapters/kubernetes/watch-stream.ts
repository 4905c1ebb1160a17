import type { WatchBatch } from '../../src/source.js'
import type { Version } from '../../src/version.js'
import { apiError } from './api-errors.js'
import { BatchReader } from './batch-reader.js'
import type { Body } from './body.js'
import type { Decoder } from './decoder.js'
import type { Requests } from './request.js'
import { SILENCE, type Visit } from './visit.js'

export interface WatchStreamOptions {
  readonly maxObjectBytes: number
  /** After so many milliseconds of silence another connection takes over. */
  readonly heartbeatMs: number
  /** How long a stream may last, in seconds. */
  readonly timeoutSeconds: number
}

/** Most events of one batch. */
const BATCH_EVENTS = 256
/** A server may end a stream so much before its time, in milliseconds. */
const EARLY_MS = 2_000

/**
 * Everything after `after`, until the server ends it or its time is over; says which. A server that says nothing for as
 * long as it should say something is asked over another connection: that goes on from where we are, so that nothing is
 * lost, and what has gone silent is left behind.
 */
export async function* watchStream<T>(
  visit: Visit,
  requests: Requests,
  decoder: Decoder<T>,
  after: Version,
  { heartbeatMs, timeoutSeconds, maxObjectBytes }: WatchStreamOptions,
): AsyncGenerator<WatchBatch<T>, 'in time' | 'early'> {
  const { clock } = visit
  const endsAt = clock.now() + timeoutSeconds * 1_000
  const open = (resourceVersion: Version): Promise<Body> => {
    const left = Math.max(1, Math.ceil((endsAt - clock.now()) / 1_000))
    return visit.open(requests.watch({ resourceVersion, timeoutSeconds: left }))
  }
  let body = await open(after)
  let reader = new BatchReader(decoder, after, maxObjectBytes)
  try {
    yield { events: [], version: after } // It is open.
    for (;;) {
      const left = endsAt - clock.now()
      if (left <= 0) return 'in time'
      const taken = await visit.take(body, Math.min(left, heartbeatMs))
      if (taken === undefined) return clock.now() < endsAt - EARLY_MS ? 'early' : 'in time'
      if (taken === SILENCE) {
        if (clock.now() >= endsAt) return 'in time'
        const { version } = reader
        body.destroy(new Error('it was silent'))
        body = await open(version)
        reader = new BatchReader(decoder, version, maxObjectBytes)
        yield { events: [], version }
        continue
      }
      for (const chunk of taken) {
        reader.push(chunk)
        if (reader.size < BATCH_EVENTS) continue
        const batch = reader.take()
        if (batch !== undefined) yield batch
      }
      const batch = reader.take()
      if (batch !== undefined) yield batch
      if (reader.failure !== undefined) throw apiError(reader.failure, requests.watch({}))
    }
  } finally {
    body.destroy(new Error('the watch is over'))
  }
}
