import type { Mutant } from '../mutate.js'
import { foreignMutantsOfFollowers } from './followers.js'
import { foreignMutantsOfInformer } from './informer.js'
import { foreignMutantsOfReflector } from './reflector.js'
import { secondForeignMutants } from './second.js'
import { foreignMutantsOfStore } from './store.js'
import { thirdForeignMutants } from './third.js'

/** Their defects are rarer: each needs two things to meet. */
const MAX_SCHEDULES = 2_000

const first: readonly Mutant[] = [
  ...foreignMutantsOfStore,
  ...foreignMutantsOfReflector,
  ...foreignMutantsOfFollowers,
  ...foreignMutantsOfInformer,
]

/** Defects by authors who had read SPEC.md and src/, but no test; in three rounds, each by other authors. */
export const foreignMutants: readonly Mutant[] = [...first, ...secondForeignMutants, ...thirdForeignMutants].map(
  (mutant) => ({
    maxSchedules: MAX_SCHEDULES,
    ...mutant,
  }),
)
