import {
  hasReachedUpstream,
  isLaterUpstreamEpoch,
  type UpstreamVersions,
} from '../../adapters/common/upstream-versions.js'
import { notAVersion } from '../../adapters/common/version-format.js'
import { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { MAX_VERSION_BYTES, type Version } from '../../src/contract/version.js'

/** A version of a follower: a position of the store, the epoch of the relay, and the version of the upstream. */
export interface RelayVersion {
  readonly epoch: number
  readonly position: Version
  /** Empty if the upstream mirror had none. */
  readonly upstream: string
}

/** What compares the parts of versions. */
export interface Comparison {
  readonly collection: ListerWatcher<string>
  readonly upstream: UpstreamVersions | undefined
}

const OF = 'a relay'
const pattern = /^relay1\.(\d{1,15})\.([\x21-\x7e]+) ([\x20-\x7e]*)$/

/** `relay1.<epoch>.<position> <upstream>` */
export function formatVersion({ epoch, position, upstream }: RelayVersion): Version {
  const own = `relay1.${epoch}.${position} `
  return own.length + upstream.length > MAX_VERSION_BYTES ? own : own + upstream
}

/** Returns undefined if the text is not a version of a follower. */
export function parseVersion(version: Version): RelayVersion | undefined {
  const [, epoch, position, upstream = ''] = pattern.exec(version) ?? []
  return position === undefined ? undefined : { epoch: Number(epoch), position, upstream }
}

/** @throws SourceError PROTOCOL for any other text. */
export function parsedVersion(version: Version): RelayVersion {
  const known = parseVersion(version)
  if (known === undefined) throw notAVersion(version, OF)
  return known
}

/** Whether a follower at `at` has everything up to `mark`: a version of a follower, or one of the upstream. */
export function hasReached(at: Version, mark: Version, { collection, upstream: compare }: Comparison): boolean {
  const here = parsedVersion(at)
  const there = parseVersion(mark)
  if (there !== undefined) {
    const isIn = reached(collection, here.position, there.position)
    if (isIn !== undefined) {
      if (here.epoch !== there.epoch) throw upstreamChanged()
      return isIn
    }
  }
  const upstream = there?.upstream ?? mark
  return hasReachedUpstream({ compare, at: here.upstream, mark: upstream, isOfFollower: there !== undefined, of: OF })
}

/** Whether `mark` belongs to a later epoch: of the relay, of the engine, or of the upstream. */
export function isLaterEpoch(at: Version, mark: Version, { collection, upstream: compare }: Comparison): boolean {
  const here = parsedVersion(at)
  const there = parseVersion(mark)
  if (there !== undefined) {
    if (reached(collection, here.position, there.position) !== undefined) return there.epoch > here.epoch
    if (collection.isLaterEpoch?.(here.position, there.position) === true) return true
  }
  return isLaterUpstreamEpoch({ compare, at: here.upstream, mark: there?.upstream ?? mark })
}

export function upstreamChanged(): SourceError {
  return new SourceError('the upstream source has another history', { code: 'EPOCH_CHANGED' })
}

/** Undefined if the positions are of different histories of the engine. */
function reached(collection: ListerWatcher<string>, at: Version, mark: Version): boolean | undefined {
  try {
    return collection.hasReached?.(at, mark) === true
  } catch (error) {
    if (error instanceof SourceError && error.code === 'EPOCH_CHANGED') return undefined
    throw error
  }
}
