import { type Fault, faults } from './fault-kinds.js'

/** `contract`: what a source that keeps its promises may do, and its server; `breach`: promises that it breaks. */
export type FaultClass = Fault['of']

export const classes: readonly FaultClass[] = ['contract', 'breach']

/** What is planned like any other action, and is none of anybody's: servers forget, fail over and hold what does not decode, machines sleep. */
const ENVIRONMENT_FAULTS: Readonly<Record<string, FaultClass>> = {
  corrupt: 'contract',
  compact: 'contract',
  restore: 'contract',
  suspend: 'contract',
  'clock jump': 'contract',
  'expire all': 'contract',
  flips: 'breach',
}

const classOfKind = new Map([
  ...Object.entries(ENVIRONMENT_FAULTS),
  ...Object.entries(faults).map(([kind, { of }]): [string, FaultClass] => [kind, of]),
])

/** Which fault a kind of decision is; undefined where it is none, but what writers and users do. */
export function classOf(kind: string): FaultClass | undefined {
  return classOfKind.get(kind)
}
