/**
 * All random decisions of one schedule. A number depends only on the seed, its label and the count of earlier draws of
 * that label. A new kind of fault, or one that is removed, moves no other draw.
 */
export class RandomDecisions {
  readonly seed: number
  /** Decisions that were taken, by name (`break-watch#3`), in order. */
  readonly taken: string[] = []
  isQuiet = false
  readonly #only: ReadonlySet<string> | undefined
  readonly #base: number
  readonly #streams = new Map<string, Stream>()

  /** With `only`, no other decision is taken. */
  constructor(seed: number, only?: readonly string[]) {
    this.seed = seed
    this.#base = mix(mix(seed >>> 0) ^ 0x5eed)
    this.#only = only === undefined ? undefined : new Set(only)
  }

  next(label: string): number {
    return this.of(label).next()
  }

  /** All draws with one label, for frequent use. */
  of(label: string): Stream {
    let stream = this.#streams.get(label)
    if (stream === undefined) {
      stream = new Stream(mix(this.#base ^ hashOf(label)))
      this.#streams.set(label, stream)
    }
    return stream
  }

  below(label: string, below: number): number {
    return this.of(label).below(below)
  }

  chance(label: string, probability: number): boolean {
    return this.of(label).chance(probability)
  }

  pick<V>(label: string, from: readonly V[]): V {
    return this.of(label).pick(from)
  }

  take(name: string): boolean {
    if (this.#only !== undefined && !this.#only.has(name)) return false
    this.taken.push(name)
    return true
  }
}

export class Stream {
  readonly #hash: number
  drawn = 0

  constructor(hash: number) {
    this.#hash = hash
  }

  next(): number {
    this.drawn = (this.drawn + 1) | 0
    return this.at(this.drawn)
  }

  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<V>(from: readonly V[]): V {
    return from[this.below(from.length)] as V
  }

  /** The number of an occasion, however many others there were before. */
  at(occasion: number): number {
    return mix(this.#hash + Math.imul(occasion, 0x9e3779b9)) / 2 ** 32
  }
}

const hashes = new Map<string, number>()

/** A number for a text; the same on every machine. Remembered: labels are few. */
export function hashOf(text: string): number {
  let hash = hashes.get(text)
  if (hash !== undefined) return hash
  hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  if (hashes.size < 10_000) hashes.set(text, hash >>> 0)
  return hash >>> 0
}

/** Spreads 32 bits over 32 bits. */
export function mix(bits: number): number {
  let mixed = bits | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x27d4eb2f)
  return (mixed ^ (mixed >>> 15)) >>> 0
}
