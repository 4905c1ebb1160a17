import { oneLine } from '../output/error-hints.js'

/** What is wrong, in one sentence, and how it is repaired: a command or an option. */
export interface Finding {
  readonly problem: string
  readonly remedy: string
}

/** Examines one thing that can be wrong. It reads, and never writes. `C`: what all checks of a backend share. */
export interface Check<C> {
  readonly name: string
  /** `error`: a mirror cannot work, or misses changes. `warning`: it works now, and may fail or cost too much later. */
  readonly severity: 'error' | 'warning'
  /** Returns undefined if nothing is wrong, or if the check does not apply. */
  find(context: C): Promise<Finding | undefined>
}

export interface Result {
  readonly name: string
  /** `unknown`: the check itself failed, most likely because a right is missing. */
  readonly severity: 'error' | 'warning' | 'unknown'
  readonly problem: string
  readonly remedy?: string
}

export interface Diagnosis {
  /** The number of checks. */
  readonly checks: number
  readonly findings: readonly Result[]
}

/** Runs the checks one after the other. A check that fails does not end the others. */
export async function runChecks<C>(checks: readonly Check<C>[], context: C): Promise<Diagnosis> {
  const findings: Result[] = []
  for (const { name, severity, find } of checks) {
    try {
      const finding = await find(context)
      if (finding !== undefined) findings.push({ name, severity, ...finding })
    } catch (error) {
      findings.push({ name, severity: 'unknown', problem: `it could not be checked: ${oneLine(error)}` })
    }
  }
  return { checks: checks.length, findings }
}

/** A size in a message. */
export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MB`
}
