import type { ConformanceCase, ConformanceOutcome } from '../conformance-case.js'
import type { ConformanceCapability, ListerWatcherHarness, ListerWatcherSubject } from '../harness.js'
import { CaseContext, SkipCase } from './case-context.js'

type Check = (context: CaseContext) => Promise<void>

interface CaseDefinition {
  readonly needs?: readonly ConformanceCapability[]
  /** The heartbeat of a silent watch in this case, in milliseconds. Default: 60 000, so that no case relies on it. */
  readonly heartbeatMs?: number
  readonly check: Check
}

const RARE_HEARTBEAT_MS = 60_000

/** A case that the harness has to support. */
export function needs(capabilities: readonly ConformanceCapability[], check: Check): CaseDefinition {
  return { needs: capabilities, check }
}

/** Returns the cases of a theme, which are given by their names. `common`: what all of them need. */
export function buildCases(
  theme: string,
  common: readonly ConformanceCapability[],
  cases: Readonly<Record<string, Check | CaseDefinition>>,
): readonly ConformanceCase[] {
  return Object.entries(cases).map(([name, each]) => {
    const definition = typeof each === 'function' ? { check: each } : each
    const all = [...common, ...(definition.needs ?? [])]
    return { theme, name, needs: all, run: (harness) => runCase(name, { ...definition, needs: all }, harness) }
  })
}

async function runCase(
  name: string,
  { needs = [], heartbeatMs = RARE_HEARTBEAT_MS, check }: CaseDefinition,
  harness: ListerWatcherHarness<unknown>,
): Promise<ConformanceOutcome> {
  for (const need of needs) {
    const reason = harness.unsupported?.[need]
    if (reason !== undefined) return { type: 'skipped', reason }
  }
  const context = new CaseContext(await harness.create({ heartbeatMs }), harness)
  try {
    for (const need of needs) {
      const flaw = missingCapability(need, context.subject)
      if (flaw !== undefined)
        throw new Error(
          `${flaw}: the case "${name}" needs it. Add it, or say why not in ${unsupportedOf(context.subject)}`,
        )
    }
    await check(context)
    return { type: 'passed' }
  } catch (error) {
    if (error instanceof SkipCase) return { type: 'skipped', reason: error.message }
    throw error
  } finally {
    await context.dispose()
  }
}

/** The option of the harness that has everything which the subject lacks. */
function unsupportedOf(subject: ListerWatcherSubject<unknown>): string {
  const all = ['head', 'hasReached', 'versions', ...Object.keys(HOOKS)] as readonly ConformanceCapability[]
  const missing = all.filter((each) => missingCapability(each, subject) !== undefined)
  return `the harness: unsupported: { ${missing.map((each) => `${each}: 'the reason'`).join(', ')} }`
}

/** The members of the harness that capabilities need. */
const HOOKS: Readonly<Partial<Record<ConformanceCapability, keyof ListerWatcherSubject<unknown>>>> = {
  openTransactions: 'begin',
  compaction: 'compact',
  epochs: 'restore',
  corruption: 'corrupt',
  outage: 'disconnect',
  connections: 'connections',
}

/** Describes the member that a subject lacks for a capability; undefined if it has it. */
function missingCapability(need: ConformanceCapability, subject: ListerWatcherSubject<unknown>): string | undefined {
  if (need === 'head' || need === 'versions' || need === 'hasReached')
    return subject.source[need] === undefined ? `the source has no ${need}()` : undefined
  const hook = HOOKS[need]
  return hook !== undefined && subject[hook] === undefined ? `the harness has no ${hook}()` : undefined
}
