/** The offset of the wall clock for all code on this thread. */
let offMs = 0
const RealDate = Date

class ShiftedDate extends RealDate {
  constructor(...parts: readonly [] | readonly [number | string | Date]) {
    super(parts.length === 0 ? ShiftedDate.now() : parts[0])
  }

  /** Dates from before the jump are Dates. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof RealDate
  }

  static override now(): number {
    return RealDate.now() + offMs
  }
}

/**
 * Sets the clock of the machine while everything continues. All schedules of a thread share it. Code that reads only
 * its injected clock is not affected.
 */
export function setWallClock(byMs: number): void {
  offMs += byMs
  globalThis.Date = offMs === 0 ? RealDate : (ShiftedDate as DateConstructor)
}

export function restoreWallClock(): void {
  setWallClock(-offMs)
}
