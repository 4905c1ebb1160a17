import { type TelemetryChannel, telemetryChannel } from '../contract/node-or-browser.js'

/**
 * Messages on `node:diagnostics_channel`, for metrics and tracing. They cost nothing without subscribers, and in browsers.
 *
 * - `listwatch:status` { informer, source, status, previous }: every change of state.
 * - `listwatch:batch` { informer, source, changes, version, lagMs }: every commit to the store.
 * - `listwatch:error` { source, error }: every reported error.
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
