import type { SourceError } from '../../../src/contract/errors.js'
import type { KubernetesReference } from './object-types.js'

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
