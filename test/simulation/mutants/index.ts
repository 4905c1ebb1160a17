import { mutantsOfAudit } from './audit.js'
import { mutantsOfControllers } from './controllers.js'
import { mutantsOfFollowers } from './followers.js'
import { mutantsOfGroups } from './groups.js'
import type { Mutant } from './mutate.js'
import { mutantsOfQueue } from './queue.js'
import { mutantsOfReflector } from './reflector.js'
import { mutantsOfSets } from './sets.js'
import { mutantsOfStore } from './store.js'
import { mutantsOfWaits } from './waits.js'

/** Defects that the simulator has to find, each within a thousand schedules. */
export const mutants: readonly Mutant[] = [
  ...mutantsOfReflector,
  ...mutantsOfStore,
  ...mutantsOfQueue,
  ...mutantsOfFollowers,
  ...mutantsOfControllers,
  ...mutantsOfWaits,
  ...mutantsOfAudit,
  ...mutantsOfSets,
  ...mutantsOfGroups,
]
