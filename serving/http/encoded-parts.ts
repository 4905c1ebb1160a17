import type { Clock } from '../../src/contract/clock.js'
import type { ListEvent } from '../../src/contract/source.js'
import type { StoreView } from '../../src/store/store-view.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import { eventText, invalidText } from './event-json.js'

/** The size of a part of a list and of a batch, in characters. An object may be larger. */
export const CHUNK_CHARACTERS: number = 512 * 1024

const encoder = new TextEncoder()

export interface EncodedParts {
  readonly size: number
  readonly parts: readonly Uint8Array[]
}

/** Encodes objects in slices. `isShared`: threads share the parts. `prefix`: what followers have before each key. */
export async function encodedParts<T>(
  view: StoreView<T, object>,
  keys: Iterable<string>,
  invalid: Set<string>,
  { clock, isShared, prefix }: { readonly clock: Clock; readonly isShared: boolean; readonly prefix: string },
): Promise<EncodedParts> {
  const parts: Uint8Array[] = []
  const slice = new TimeSlice(clock)
  let texts: string[] = []
  let characters = 0
  let size = 0
  const endPart = (): void => {
    const bytes = encoder.encode(`event: part\ndata: {"events":[${texts.join(',')}]}\n\n`)
    parts.push(isShared ? shared(bytes) : bytes)
    texts = []
    characters = 0
  }
  const add = (text: string): void => {
    texts.push(text)
    characters += text.length
    if (characters >= CHUNK_CHARACTERS) endPart()
  }
  for (const key of keys) {
    const entry = view.entry(key)
    if (entry === undefined) continue
    add(eventText({ type: 'put', ...entry, key: prefix + key } satisfies ListEvent<T>, invalid.delete(key)))
    size++
    if (slice.isOverAfterCall()) await slice.turn()
  }
  for (const key of invalid) {
    add(invalidText(prefix + key))
    if (slice.isOverAfterCall()) await slice.turn()
  }
  if (texts.length > 0) endPart()
  return { size, parts }
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}
