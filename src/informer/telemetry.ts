import { type TelemetryChannel, telemetryChannel } from '../contract/runtime.js'

/**
 * Messages on `node:diagnostics_channel`, for metrics and tracing. Nothing is built when no subscriber listens, and in browsers.
 *
 * - `listwatch:status` { source, status, previous } on every change of state
 * - `listwatch:batch` { source, changes, version, lagMs } after every commit to the store
 * - `listwatch:error` { source, error } for every error that is reported
 */
export const channels: {
  readonly status: TelemetryChannel
  readonly batch: TelemetryChannel
  readonly error: TelemetryChannel
} = {
  status: telemetryChannel('listwatch:status'),
  batch: telemetryChannel('listwatch:batch'),
  error: telemetryChannel('listwatch:error'),
}
