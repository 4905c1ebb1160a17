import type { Clock } from '../contract/clock.js'
import { SLICE_MS } from './time-slice.js'

/** Work in steps. Each `yield` ends a step, after which the work may pause. */
export type Steps = Generator<void, void>

export function finish(steps: Steps | undefined): void {
  if (steps !== undefined) resultOf(steps)
}

export function resultOf<R>(steps: Generator<void, R>): R {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Performs at most `limit` steps at once. Returns the steps that are left, if there are any. */
export function begun(steps: Steps, limit: number): Steps | undefined {
  for (let step = 0; step < limit; step++) if (steps.next().done === true) return undefined
  return steps
}

/** Performs steps for one slice of time. Returns whether all are done. */
export function performSlice(steps: Steps, clock: Clock, { stepsPerCheck, sliceMs }: Slices): boolean {
  const since = clock.now()
  for (let step = 1; steps.next().done !== true; step++) {
    if (step % stepsPerCheck === 0 && clock.now() - since >= sliceMs) return false
  }
  return true
}

export function* inSteps<E>(elements: readonly E[], act: (element: E) => void): Steps {
  for (const element of elements) {
    act(element)
    yield
  }
}

/** How large writes, and other work with many changes, are cut into slices. */
export interface Slices {
  /** A write of more changes runs in slices, and a replay that selects from more objects. */
  readonly largeWrite: number
  /** The number of steps between two reads of the clock. */
  readonly stepsPerCheck: number
  /** A slice ends after this time, in milliseconds. */
  readonly sliceMs: number
  /** How many changes are routed to subscriptions in one step. */
  readonly changesPerStep: number
}

export const DEFAULT_SLICES: Slices = { largeWrite: 1_024, stepsPerCheck: 4, sliceMs: SLICE_MS, changesPerStep: 16 }
