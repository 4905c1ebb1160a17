import type { SimulatedSource } from '../backend/simulated-source.js'

/** The code under test with all its users, in one run. */
export interface SystemUnderTest {
  /** A description for the story. */
  readonly state: string
  readonly isStopping: boolean
  readonly isStopped: boolean
  /** The part that has not converged; undefined once everything has. */
  readonly unfinished: string | undefined
  /** Whether a source is known to need another list. */
  readonly isIncomplete: boolean
  start(): void
  /** Checks after every step. */
  checkStep(): void
  /** Faults are over. */
  heal(): void
  /** Checks at rest. */
  check(): void
  stop(): void
  /** Checks after `stop` has settled. */
  checkStopped(): void
  /** The machine was suspended. */
  skipped(): void
}

/** A system over one source. */
export interface SingleSourceSystem extends SystemUnderTest {
  readonly source: SimulatedSource
}
