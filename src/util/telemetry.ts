import { type TelemetryChannel, telemetryChannel } from '../contract/node-or-browser.js'

type ChannelName = 'status' | 'apply' | 'batch' | 'error' | 'handler' | 'runStart' | 'runEnd'

/**
 * Messages on `node:diagnostics_channel`, for metrics and tracing. They cost nothing without subscribers, and in
 * browsers.
 *
 * - `listwatch:status` { informer, source, status, previous }: every change of state.
 * - `listwatch:apply` { informer, source }: a list or a batch is about to be written to the store.
 * - `listwatch:batch` { informer, source, origin, changes, version, position, lagMs }: every commit to the store.
 * - `listwatch:error` { source, error }: every reported error.
 * - `listwatch:handler` HandlerMessage: every call of a handler that returned a promise, when that is settled.
 * - `listwatch:reconcile:start` and `listwatch:reconcile:end` RunMessage: every run of a controller.
 */
export const channels: Readonly<Record<ChannelName, TelemetryChannel>> = {
  status: telemetryChannel('listwatch:status'),
  apply: telemetryChannel('listwatch:apply'),
  batch: telemetryChannel('listwatch:batch'),
  error: telemetryChannel('listwatch:error'),
  handler: telemetryChannel('listwatch:handler'),
  runStart: telemetryChannel('listwatch:reconcile:start'),
  runEnd: telemetryChannel('listwatch:reconcile:end'),
}

export type CallResult = 'success' | 'failure'

export interface HandlerMessage {
  readonly informer: string
  readonly subscription: string | undefined
  readonly type: 'add' | 'update' | 'delete'
  readonly key: string
  readonly durationMs: number
  readonly result: CallResult
  readonly error: unknown
}

/** One object for both messages of a run. */
export interface RunMessage {
  readonly informer: string
  readonly controller: string | undefined
  readonly key: string
  readonly attempt: number
  /** The `position` of the batch with the first change that caused the run, if it is known. */
  readonly cause: string | undefined
  /** A subscriber of the start may set it. It is called instead of the run, with the run. */
  around: (<R>(run: () => R) => R) | undefined
  /** Zero until the end. */
  durationMs: number
  /** Meaningful at the end. */
  result: CallResult
  error: unknown
}
