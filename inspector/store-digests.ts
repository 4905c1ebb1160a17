import { SourceError } from '../src/contract/errors.js'
import type { Informer } from '../src/informer/informer-types.js'
import { digestOf } from './object-digest.js'
import { TimeSlice } from './time-slice.js'

/** The first line of the digests of a store: the moment that they show. */
export interface MirrorPosition {
  readonly informer: string
  /** The version of each source, by its name. Empty before the first list. */
  readonly versions: Readonly<Record<string, string>>
  readonly isSynced: boolean
  /** Whether the hidden values of Kubernetes Secrets count. */
  readonly showsSecrets: boolean
  readonly invalid: readonly string[]
}

/** A further line: an object. `write` is another number whenever the object was written between two requests. */
export type ObjectDigest = readonly [key: string, digest: string, write: number]

const REACH_MS = 30_000
const CHUNK = 65_536

/** Numbers the objects by their identity, because each write stores another object. */
const writes = new WeakMap<object, number>()
let lastWrite = 0

/**
 * Returns the digests of all objects at one moment as lines of JSON, several at a time, so that another program can
 * compare them with the source. If `reached` is given, it first waits until the store has reached this version, for at
 * most 30 s.
 *
 * @throws SourceError EPOCH_CHANGED if the version is of another history of the source, STOPPED if the informer was
 * stopped.
 */
export async function* digestsOf(
  informer: Informer<unknown, object>,
  showsSecrets: boolean,
  reached: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (reached !== undefined) await hasReached(informer, reached, signal)
  using view = informer.snapshot()
  const position: MirrorPosition = {
    informer: informer.name,
    versions: Object.fromEntries(informer.versions),
    isSynced: informer.status.isSynced,
    showsSecrets,
    invalid: [...informer.invalid.keys()],
  }
  const slice = new TimeSlice(signal)
  let chunk = `${JSON.stringify(position)}\n`
  for (const [key, object] of view.entries()) {
    const line: ObjectDigest = [key, digestOf(object, showsSecrets), writeOf(object)]
    chunk += `${JSON.stringify(line)}\n`
    if (chunk.length >= CHUNK) {
      yield chunk
      chunk = ''
    }
    await slice.end()
  }
  yield chunk
}

function writeOf(object: unknown): number {
  if (typeof object !== 'object' || object === null) return 0
  const known = writes.get(object)
  if (known !== undefined) return known
  writes.set(object, ++lastWrite)
  return lastWrite
}

/** A mirror that does not reach the version in time is sent too: it may lack what it has not received. */
async function hasReached(informer: Informer<unknown, object>, version: string, signal: AbortSignal): Promise<void> {
  try {
    await informer.waitFor(version, { timeoutMs: REACH_MS, signal })
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'TIMEOUT')) throw error
  }
}
