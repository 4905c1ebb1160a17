import type { SimulatedSource } from '../backend/simulated-source.js'

/** The code under test, with all who use it, in one life. */
export interface SystemUnderTest {
  /** In words, for the story. */
  readonly state: string
  readonly isStopping: boolean
  readonly isStopped: boolean
  /** What is not as it should be in the end; undefined once everything is. */
  readonly unfinished: string | undefined
  /** Whether it is known that a source has to be read again before long. */
  readonly isIncomplete: boolean
  start(): void
  /** Judges what must hold at every moment. */
  checkStep(): void
  /** Faults are over. */
  heal(): void
  /** Judges what must hold at rest. */
  check(): void
  stop(): void
  /** Judges what must hold after `stop` has settled. */
  checkStopped(): void
  /** Time went by in which nobody could act. */
  skipped(): void
}

/** The same over one source, in one of the ways in which users put it together. */
export interface SingleSourceSystem extends SystemUnderTest {
  readonly source: SimulatedSource
}
