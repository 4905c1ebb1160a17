import { systemClock } from '../../src/contract/clock.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { fieldOf } from '../args/fields.js'
import { oneLine } from '../output/error-hints.js'
import { awaitFirstList, isDecodeError } from '../output/first-list.js'
import type { OpenSource, Row } from '../sources/source-types.js'

/** What is wrong, in one sentence, and how it is repaired: a command or an option. */
export interface Finding {
  readonly problem: string
  /** Undefined if the problem names it. */
  readonly remedy?: string
}

/** Examines one thing that can be wrong. It reads, and never writes. `C`: what all checks of a backend share. */
export interface Check<C> {
  readonly name: string
  readonly severity: 'error' | 'warning'
  /** It measures time, so no other check runs beside it. Default: others may. */
  readonly runsAlone?: true
  /** It needs a source that can be read, so it runs last, and only if no other check has found an error. */
  readonly runsLast?: true
  /** Returns undefined if nothing is wrong, or if the check does not apply. */
  find(context: C): Promise<Finding | undefined>
}

/** A check whose finding means that a mirror cannot work, or misses changes. */
export function errorCheck<C>(name: string, find: Check<C>['find']): Check<C> {
  return { name, severity: 'error', find }
}

/** A check whose finding means that a mirror works now, and may fail or cost too much later. */
export function warningCheck<C>(name: string, find: Check<C>['find']): Check<C> {
  return { name, severity: 'warning', find }
}

export interface Result extends Finding {
  readonly name: string
  /** `unknown`: the check itself failed, most likely because a right is missing. */
  readonly severity: 'error' | 'warning' | 'unknown'
}

export interface Diagnosis {
  readonly checks: number
  readonly findings: readonly Result[]
}

export interface CheckProgress {
  readonly checks: number
  readonly done: number
  /** The names of those that run, in the order of their starts. */
  readonly running: readonly string[]
}

export type OnCheckProgress = (progress: CheckProgress) => void

/** Connects to what a URL names, and runs its checks. Throws a CliError without a connection. */
export type Diagnose<F> = (url: string, flags: F, onProgress: OnCheckProgress) => Promise<Diagnosis>

/** Runs the checks in their order, `atOnce` at the same time. A check that fails does not end the others. */
export async function runChecks<C>(
  checks: readonly Check<C>[],
  context: C,
  { onProgress, atOnce = 1 }: { readonly onProgress: OnCheckProgress; readonly atOnce?: number },
): Promise<Diagnosis> {
  const results = new Map<Check<C>, Result | undefined>(checks.map((check) => [check, undefined]))
  const running = new Set<string>()
  let done = 0
  const progressed = (): void => onProgress({ checks: checks.length, done, running: [...running] })
  const run = async (some: Iterable<Check<C>>): Promise<void> => {
    for (const check of some) {
      running.add(check.name)
      progressed()
      results.set(check, await resultOf(check, context))
      running.delete(check.name)
      done++
      if (running.size > 0) progressed()
    }
  }
  await run(checks.filter(({ runsAlone }) => runsAlone))
  const others = checks.filter(({ runsAlone, runsLast }) => !runsAlone && !runsLast).values()
  await Promise.all(Array.from({ length: atOnce }, () => run(others)))
  const hasError = [...results.values()].some((result) => result?.severity === 'error')
  if (!hasError) await run(checks.filter(({ runsLast }) => runsLast))
  return { checks: checks.length, findings: [...results.values()].filter((result) => result !== undefined) }
}

async function resultOf<C>({ name, severity, find }: Check<C>, context: C): Promise<Result | undefined> {
  try {
    const finding = await find(context)
    return finding && { name, severity, ...finding }
  } catch (error) {
    return { name, severity: 'unknown', problem: `it could not be checked: ${oneLine(error)}` }
  }
}

/** How long a JSON web token will be valid, in milliseconds; NaN for another token. */
export function leftMsOf(token: string | undefined): number {
  try {
    const payload = Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString()
    return Number(fieldOf(JSON.parse(payload), 'exp')) * 1_000 - systemClock.now()
  } catch {
    return Number.NaN
  }
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MB`
}

interface Openable {
  open(): Promise<OpenSource>
}

/** Finds out whether a mirror can read the source at all. `what` begins the message, such as "the bucket cannot be read". */
export function listCheck<C extends Openable>(what: string): Check<C> {
  return errorCheck('list', async (context) => {
    try {
      await readObjects(context)
      return undefined
    } catch (error) {
      return { problem: `${what}: ${oneLine(error)}` }
    }
  })
}

export function undecodableCheck<C extends Openable>(): Check<C> {
  return { ...warningCheck('undecodable', readObjects), runsLast: true }
}

/** Reads each object once, and keeps none. Returns how many cannot be decoded. Throws if the source cannot be read. */
async function readObjects({ open }: Openable): Promise<Finding | undefined> {
  using opened = await open()
  await using rows = createInformer({
    source: opened.source,
    audit: false,
    transform: (): Row | undefined => undefined,
  })
  const errors: string[] = []
  rows.on('error', (error) => {
    if (isDecodeError(error)) errors.push(opened.message(error.message))
  })
  await awaitFirstList(rows, opened, new AbortController().signal)
  const [first] = errors
  if (first === undefined) return undefined
  return {
    problem: `a mirror lacks ${errors.length} of the objects, because they cannot be decoded: ${first}`,
    remedy: 'correct these values, or use another --codec',
  }
}
