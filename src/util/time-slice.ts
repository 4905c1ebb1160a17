/** Continuous work yields to the event loop after this time, in milliseconds. */
export const SLICE_MS = 8
