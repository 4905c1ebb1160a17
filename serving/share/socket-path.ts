import type { OptionCheck } from '../../src/util/validate-options.js'

/** Longer paths of sockets are refused by macOS; Linux allows four more. */
const MAX_BYTES = 103

export const isSocketPath: OptionCheck = (value) =>
  typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= MAX_BYTES
    ? undefined
    : `must be a path of at most ${MAX_BYTES} bytes`
