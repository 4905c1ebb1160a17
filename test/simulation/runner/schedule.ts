import type { Invariant } from '../system/scenario.js'
import type { Mark } from './coverage-marks.js'

/**
 * The kinds of schedules: one source, a set of sources in one store, a group of informers, processes over one cache,
 * replicas of a controller, relays of a mirror, a share with its workers, or collections of one history with views.
 */
export const kinds = ['one', 'set', 'group', 'cache', 'replicas', 'relay', 'share', 'views'] as const

export type Kind = (typeof kinds)[number]
export type Violation = { readonly invariant: Invariant; readonly message: string }

export interface Outcome {
  readonly kind: Kind
  readonly seed: number
  readonly isBreach: boolean
  readonly steps: number
  /** The length of the schedule, in virtual milliseconds. */
  readonly virtualMs: number
  /** The time from the end of faults until everything had converged, in milliseconds. */
  readonly healMs: number
  readonly trace: number
  readonly taken: readonly string[]
  readonly marks: readonly Mark[]
  readonly violation: Violation | undefined
}

export type Line = { readonly at: number; readonly event: string; readonly state: string }

export interface ScheduleOptions {
  readonly only?: readonly string[] | undefined
  readonly onEvent?: ((line: Line) => void) | undefined
}
