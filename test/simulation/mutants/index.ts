import { mutantsOfAccess } from './access.js'
import { mutantsOfAudit } from './audit.js'
import { mutantsOfCaches } from './caches.js'
import { mutantsOfClosing } from './closing.js'
import { mutantsOfControllers } from './controllers.js'
import { mutantsOfFollowers } from './followers.js'
import { mutantsOfGroups } from './groups.js'
import { mutantsOfKeptContent } from './kept-content.js'
import { mutantsOfLargeWrites } from './large-writes.js'
import type { Mutant } from './mutate.js'
import { mutantsOfQueue } from './queue.js'
import { mutantsOfReflector } from './reflector.js'
import { mutantsOfRelays } from './relays.js'
import { mutantsOfReplays } from './replays.js'
import { mutantsOfReplicas } from './replicas.js'
import { mutantsOfRouting } from './routing.js'
import { mutantsOfSets } from './sets.js'
import { mutantsOfShares } from './shares.js'
import { mutantsOfStore } from './store.js'
import { mutantsOfStuck } from './stuck.js'
import { mutantsOfTelemetry } from './telemetry.js'
import { mutantsOfWaits } from './waits.js'

/** Defects that the simulator has to find, or a test that they name. */
export const mutants: readonly Mutant[] = [
  ...mutantsOfReflector,
  ...mutantsOfStore,
  ...mutantsOfQueue,
  ...mutantsOfFollowers,
  ...mutantsOfControllers,
  ...mutantsOfRouting,
  ...mutantsOfClosing,
  ...mutantsOfStuck,
  ...mutantsOfWaits,
  ...mutantsOfTelemetry,
  ...mutantsOfAccess,
  ...mutantsOfAudit,
  ...mutantsOfSets,
  ...mutantsOfGroups,
  ...mutantsOfLargeWrites,
  ...mutantsOfReplays,
  ...mutantsOfReplicas,
  ...mutantsOfCaches,
  ...mutantsOfKeptContent,
  ...mutantsOfRelays,
  ...mutantsOfShares,
]
