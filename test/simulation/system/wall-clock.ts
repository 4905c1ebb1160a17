/** How far the wall clock is off, for everybody on this thread. */
let offMs = 0
const RealDate = Date

class ShiftedDate extends RealDate {
  constructor(...parts: readonly [] | readonly [number | string | Date]) {
    super(parts.length === 0 ? ShiftedDate.now() : parts[0])
  }

  /** Dates from before are Dates. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof RealDate
  }

  static override now(): number {
    return RealDate.now() + offMs
  }
}

/**
 * Somebody sets the clock of the machine, while everything goes on. All schedules of a thread share it: who only reads
 * the clock that was given to it cannot tell.
 */
export function setWallClock(byMs: number): void {
  offMs += byMs
  globalThis.Date = offMs === 0 ? RealDate : (ShiftedDate as DateConstructor)
}

/** As it was before anybody set it. */
export function restoreWallClock(): void {
  setWallClock(-offMs)
}
