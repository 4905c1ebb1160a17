import type { ConformanceCase } from './conformance-case.js'
import { endingCases } from './ending-cases.js'
import { keyCases } from './key-cases.js'
import { listCases } from './list-cases.js'
import { nameCases } from './name-cases.js'
import { recoveryCases } from './recovery-cases.js'
import { versionCases } from './version-cases.js'
import { watchCases } from './watch-cases.js'

/** Every promise of the source contract that can be judged from outside, for runners of your own. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...nameCases,
  ...listCases,
  ...watchCases,
  ...versionCases,
  ...keyCases,
  ...recoveryCases,
  ...endingCases,
]
