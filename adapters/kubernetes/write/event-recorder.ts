import { type Clock, wallNowOf } from '../../../src/contract/clock.js'
import { messageOf, SourceError } from '../../../src/contract/errors.js'
import type { Random } from '../../../src/contract/random.js'
import { unavailable } from '../../common/source-errors.js'
import { apiStatusIn } from '../http/api-error.js'
import type { ApiRequest } from '../http/api-session.js'
import { type KubernetesReference, namesOf } from './object-types.js'

/**
 * The options of `eventRecorder`.
 *
 * @example
 * ```ts
 * import { kubernetesWriter } from 'listwatch/kubernetes'
 *
 * const recorder = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' }).eventRecorder({
 *   controller: 'example.com/site-operator',
 *   instance: 'site-operator-0', // Default: the name of the host.
 *   onError: ({ message }) => console.warn(message), // Default: failures are only counted.
 * })
 * ```
 */
export interface EventRecorderOptions {
  /** The name of the controller, with a domain: `example.com/site-operator`. */
  readonly controller: string
  /** The name of this process. Default: the name of the host, which is the name of the pod. */
  readonly instance?: string
  /** Called for each event that could not be written. Default: such events are only counted. */
  readonly onError?: (error: SourceError) => void
}

/**
 * What happened to an object.
 *
 * @example
 * ```ts
 * import type { KubernetesEvent } from 'listwatch/kubernetes'
 *
 * function quotaExceeded(error: Error): KubernetesEvent {
 *   return { type: 'Warning', reason: 'QuotaExceeded', action: 'CreatePod', note: error.message } // Default: `Normal`.
 * }
 * ```
 */
export interface KubernetesEvent {
  /** `Warning` for something that a person should look at. Default: `Normal`. */
  readonly type?: 'Normal' | 'Warning'
  /** Why it was done, as one word for programs: `QuotaExceeded`. At most 128 characters. */
  readonly reason: string
  /** The action of the controller, as one word: `CreatePod`. Default: the reason. At most 128 characters. */
  readonly action?: string
  /** A text for people. It is cut after 1 024 bytes. Events that differ in it only are one series. */
  readonly note?: string
  /** Another object that takes part in it. */
  readonly related?: KubernetesReference
}

/**
 * Writes events, as `kubectl describe` shows them.
 *
 * @example
 * ```ts
 * import { kubernetesWriter } from 'listwatch/kubernetes'
 *
 * const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' })
 * const recorder = writer.eventRecorder({ controller: 'example.com/site-operator' })
 * recorder.event(pod, { reason: 'Restarted', note: 'its configuration has changed' })
 * await recorder.flush()
 * if (recorder.dropped > 0) console.warn(`${recorder.dropped} events were not written`)
 * ```
 */
export interface EventRecorder {
  /** The number of events that were not written: a write failed, or 100 writes were waiting. */
  readonly dropped: number
  /**
   * Records an event about an object. It returns at once and never throws. An event that repeats an earlier one within
   * 6 minutes becomes a series: its count is written at the first repetition, and then at most once a minute.
   */
  event(regarding: KubernetesReference, event: KubernetesEvent): void
  /** Writes the counts that are not written yet. Resolves when nothing is left to write; never rejects. */
  flush(): Promise<void>
}

/** An event is repeated if the last one is not older, in milliseconds. */
const SERIES_MS = 360_000
/** The shortest time between two writes of a series, in milliseconds. */
const WRITE_EVERY_MS = 60_000
const MAX_SERIES = 1_000
const MAX_WAITING = 100
const MAX_WORD = 128
/** Most characters of the object's name in the name of an event, which may have 253. */
const MAX_NAME = 200
const MAX_NOTE_BYTES = 1_024
const API_VERSION = 'events.k8s.io/v1'

interface Series {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly body: object
  count: number
  lastAt: number
  /** `lastAt` by the wall clock. */
  lastObservedAt: number
  /** The count that the server has; 0 before the event is created. */
  written: number
  writtenAt: number
}

export interface RecorderSettings extends EventRecorderOptions {
  readonly instance: string
  readonly clock: Clock
  readonly random: Random
  readonly send: (request: ApiRequest) => Promise<unknown>
}

/** Creates events one after the other, and counts repetitions. */
export function seriesRecorder(settings: RecorderSettings): EventRecorder {
  const { controller, instance, clock, random, send, onError } = settings
  /** By content; the one that was repeated last is at the end. */
  const all = new Map<string, Series>()
  const waiting = new Set<Series>()
  let writing: Promise<void> | undefined
  /** Distinguishes the names of its events from those that another recorder creates in the same millisecond. */
  const id = Math.floor(random.next() * 2 ** 48).toString(16)
  let dropped = 0
  let names = 0

  const fail = (error: unknown): void => {
    dropped++
    const reported =
      error instanceof SourceError ? error : new SourceError(messageOf(error), { code: 'PROTOCOL', cause: error })
    try {
      onError?.(reported)
    } catch {
      // Events are best effort, and a run must not fail because of them.
    }
  }

  const bodyOf = (
    regarding: KubernetesReference,
    { type = 'Normal', reason, action = reason, note, related }: KubernetesEvent,
  ) => ({
    regarding: referenceOf(regarding),
    ...(related === undefined ? {} : { related: referenceOf(related) }),
    type,
    reason: reason.slice(0, MAX_WORD),
    action: action.slice(0, MAX_WORD),
    reportingController: controller,
    reportingInstance: instance.slice(0, MAX_WORD),
    ...(note === undefined ? {} : { note: cut(note) }),
  })

  const create = (key: string, body: { readonly regarding: Reference }, now: number): Series => {
    const { name, namespace = 'default' } = body.regarding
    const observedAt = wallNowOf(clock)
    const suffix = `${Math.floor(observedAt).toString(16)}.${id}.${(++names).toString(16)}`
    const eventName = [...labelsIn(name.slice(0, MAX_NAME)), suffix].join('.')
    const metadata = { name: eventName, namespace }
    const whole = { apiVersion: API_VERSION, kind: 'Event', metadata, eventTime: microTime(observedAt), ...body }
    const times = { lastAt: now, lastObservedAt: observedAt, writtenAt: now }
    return { key, namespace, name: eventName, body: whole, count: 1, written: 0, ...times }
  }

  const record = (regarding: KubernetesReference, event: KubernetesEvent): void => {
    const now = clock.now()
    const body = bodyOf(regarding, event)
    const { note: _note, ...identity } = body
    const key = JSON.stringify(identity)
    const known = all.get(key)
    all.delete(key)
    const isRepeated = known !== undefined && now - known.lastAt <= SERIES_MS
    const series = isRepeated ? known : create(key, body, now)
    if (isRepeated) {
      series.count++
      series.lastAt = now
      series.lastObservedAt = wallNowOf(clock)
    }
    const isDue = series.written < 2 || now - series.writtenAt >= WRITE_EVERY_MS
    if (isDue && !waiting.has(series)) {
      if (waiting.size >= MAX_WAITING) {
        if (isRepeated) all.set(key, series)
        throw unavailable(`${MAX_WAITING} events wait to be written`)
      }
      waiting.add(series)
    }
    all.set(key, series)
    for (const oldest of all.keys()) {
      if (all.size <= MAX_SERIES) break
      all.delete(oldest)
    }
    write()
  }

  const write = (): void => {
    if (writing !== undefined || waiting.size === 0) return
    writing = writeAll().finally(() => {
      writing = undefined
    })
  }

  const writeAll = async (): Promise<void> => {
    for (const series of waiting) {
      waiting.delete(series)
      const { count, written } = series
      series.written = count
      series.writtenAt = clock.now()
      try {
        await send(requestFor(series, written))
      } catch (error) {
        const isExpired = written > 0 && apiStatusIn(error)?.code === 404
        if (isExpired) {
          series.written = 0
          waiting.add(series) // It is created again.
          continue
        }
        if (all.get(series.key) === series) all.delete(series.key)
        fail(error)
      }
    }
  }

  return {
    get dropped() {
      return dropped
    },
    event: (regarding, event) => {
      try {
        record(regarding, event)
      } catch (error) {
        fail(error)
      }
    },
    flush: async () => {
      for (const series of all.values()) if (series.count > series.written) waiting.add(series)
      write()
      while (writing !== undefined) await writing
    },
  }
}

interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
}

function referenceOf(object: KubernetesReference): Reference {
  const { apiVersion, kind, name, namespace, uid } = namesOf('eventRecorder', object)
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  }
}

function requestFor({ namespace, name, body, count, lastObservedAt }: Series, written: number): ApiRequest {
  const path = `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/events`
  const target = { group: 'events.k8s.io', plural: 'events', namespace, verbs: ['create', 'patch'] }
  const series = count > 1 ? { series: { count, lastObservedTime: microTime(lastObservedAt) } } : {}
  if (written === 0) return { ...target, verb: 'create', path, body: { ...body, ...series } }
  const contentType = 'application/merge-patch+json'
  return { ...target, verb: 'patch', path: `${path}/${name}`, body: series, contentType }
}

/**
 * The parts of a name between points, as a subdomain may have them. The name of a role, for example, may have other
 * characters. A long name that was cut may end with a hyphen.
 */
function labelsIn(name: string): readonly string[] {
  const labels = name.split('.').map((label) => label.replace(/[^a-z0-9-]/g, '-').replace(/^-+|-+$/g, ''))
  return labels.filter((label) => label !== '')
}

/** The server requires six digits after the point. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

function cut(text: string): string {
  const bytes = Buffer.from(text)
  return bytes.length <= MAX_NOTE_BYTES
    ? text
    : bytes
        .subarray(0, MAX_NOTE_BYTES)
        .toString()
        .replace(/\uFFFD+$/, '')
}
