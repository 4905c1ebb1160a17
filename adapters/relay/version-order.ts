import type { ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'

/** How a mirror at `at` is related to a store at `mark`. `other`: they are of different histories of the source. */
export function versionOrder(
  source: Pick<ListerWatcher<unknown>, 'hasReached' | 'isLaterEpoch'>,
  at: Version,
  mark: Version,
): 'reached' | 'behind' | 'other' {
  try {
    if (source.hasReached === undefined) return at === mark ? 'reached' : 'other'
    return source.hasReached(at, mark) ? 'reached' : 'behind'
  } catch {
    return source.isLaterEpoch?.(at, mark) === true ? 'behind' : 'other'
  }
}
