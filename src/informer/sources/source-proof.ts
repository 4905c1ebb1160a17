import type { Proof } from '../../contract/status.js'
import type { Version } from '../../contract/version.js'

export interface Comparison {
  readonly version: Version
  /** When the read began, in milliseconds since the Unix epoch. */
  readonly at: number
  readonly differences: number
  /** Whether all keys were compared, apart from those that were written meanwhile. */
  readonly isComplete: boolean
}

export class SourceProof {
  readonly audits: Record<'equal' | 'drift' | 'failed', number> = { equal: 0, drift: 0, failed: 0 }
  #proven: Omit<Proof, 'foundDrift'> | undefined
  /** The number of keys that differed in the last completed audit. */
  #foundDrift = 0

  get current(): Proof | undefined {
    return this.#proven && { ...this.#proven, foundDrift: this.#foundDrift }
  }

  listed(version: Version, at: number): void {
    this.#proven = { version, at, by: 'list' }
  }

  /** Saved content is in the store. Its proof keeps its age. */
  restored(proof: Proof | undefined): void {
    if (proof === undefined) return
    const { foundDrift, ...proven } = proof
    this.#proven = proven
    this.#foundDrift = foundDrift
  }

  audited({ version, at, differences, isComplete }: Comparison): void {
    if (differences > 0) {
      this.#foundDrift = differences
      this.audits.drift++
    } else if (isComplete) {
      this.#foundDrift = 0
      this.audits.equal++
      this.#proven = { version, at, by: 'audit' }
    }
  }
}
