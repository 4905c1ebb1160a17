import type { SimulatedSource } from './simulated-source.js'

/** The code under test in one of the ways in which users put it together. */
export interface Drive {
  readonly source: SimulatedSource
  /** In words, for the story. */
  readonly state: string
  readonly isStopping: boolean
  readonly isStopped: boolean
  /** What is not as it should be in the end; undefined once everything is. */
  readonly unfinished: string | undefined
  start(): void
  /** Judges what must hold at every moment. */
  look(): void
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
