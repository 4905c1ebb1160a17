import { type Fault, faults } from './fault-kinds.js'

/** `contract`: faults that a correct source and its server may show. `breach`: promises that the source breaks. */
export type FaultClass = Fault['of']

export const classes: readonly FaultClass[] = ['contract', 'breach']

/** Planned faults of the environment: servers forget, fail over and hold undecodable objects; machines sleep. */
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

/** The class of fault of a kind of decision; undefined for the actions of writers and users. */
export function classOf(kind: string): FaultClass | undefined {
  return classOfKind.get(kind)
}
