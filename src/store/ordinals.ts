import type { Scalar } from './indexes/scalar.js'

/** Identifies a present key, and is used again after its delete. Below 0: see `KeptBase`. */
export type Ordinal = number

/** Pins without a write between them, as far as indexes need them. */
export interface Layer {
  /** Greater than those of all older layers. */
  readonly id: number
  /** One more than the greatest ordinal at the creation of the pins. */
  readonly limit: number
  readonly newer: Layer | undefined
}

/** The values of an index when a pin was created. Later writes do not change them. */
export type CapturedIndex = CapturedHash | CapturedOrder

/** An equal or multi-value index. */
export interface CapturedHash {
  readonly kind: 'hash'
  /** By id. */
  readonly values: readonly (Scalar | undefined)[]
  /** Calls `visit` with the id of each value of an ordinal. */
  each(ordinal: Ordinal, visit: (id: number) => void): void
}

/** An ordered or compound index. */
export interface CapturedOrder {
  readonly kind: 'sorted'
  readonly order: Int32Array
  /** The components of the tuples by ordinal. */
  readonly columns: readonly (readonly (Scalar | undefined)[])[]
}
