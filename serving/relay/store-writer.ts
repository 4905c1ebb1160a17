import type { Random } from '../../src/contract/random.js'
import type { RelayStore, StoredText, TextChange } from '../../src/contract/relay-store.js'
import type { SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { HEADER_KEY, headerText, type RelayHeader, unrelayedText } from './relay-texts.js'

/** The state of the mirror that a batch leads to. */
export type Reached = Pick<RelayHeader, 'epoch' | 'version' | 'fingerprint' | 'hasFiltered' | 'resumeState'>

/** A batch to write. Its changes can be read again, for another attempt. */
export interface Outgoing {
  readonly changes: Iterable<TextChange>
  readonly reached: Reached
}

/** What a text costs besides its characters, in bytes. */
const CHANGE_BYTES = 32

/** Writes batches to a store, each as a whole: a batch that is too large for one write is written in several parts. */
export class StoreWriter {
  readonly #store: RelayStore
  readonly #id: string
  #write = 0
  /** The number of the last write that the store confirmed. */
  #confirmed = -1
  /** The number that the last write of a batch has in its header, until the store confirms it. */
  #unconfirmed: number | undefined
  #position: Version = ''
  /** Whether the store was at another position than after the last write of this relay. */
  #isElsewhere = false
  #header: RelayHeader | undefined
  /** The epoch of the last header that this relay has seen. */
  #epoch = 0
  #parts = 0

  constructor(store: RelayStore, random: Random) {
    this.#store = store
    this.#id = Array.from({ length: 12 }, () => Math.floor(random.next() * 36).toString(36)).join('')
  }

  /** The number of confirmed writes that had changes of objects. */
  get parts(): number {
    return this.#parts
  }

  get position(): Version {
    return this.#position
  }

  get header(): RelayHeader | undefined {
    return this.#header
  }

  /** Another relay may write from here on, or this one after a failure. */
  found({ position }: StoredText, header: RelayHeader | undefined): void {
    this.#isElsewhere = position !== this.#position
    this.#position = position
    this.#header = header
    this.#epoch = header?.epoch ?? this.#epoch
  }

  isForeign(header: RelayHeader | undefined): boolean {
    return header !== undefined && header.writer !== this.#id
  }

  /**
   * Compares what the store has with the last batch of this relay. `written`: the store has it. `missing`: it has the
   * batch before. `other`: another relay or another client has written, or the engine has lost writes.
   */
  outcome(header: RelayHeader | undefined): 'written' | 'missing' | 'other' {
    if (header?.writer !== this.#id || !header.isWhole) return 'other'
    if (header.write === this.#unconfirmed) {
      this.#confirmed = header.write
      this.#unconfirmed = undefined
      return 'written'
    }
    return header.write === this.#confirmed && !this.#isElsewhere ? 'missing' : 'other'
  }

  /**
   * Takes over the collection. Then no other relay can write without reading this first. If there is no header, another
   * one may have been removed, and followers may have its epoch. So the new one is about the time in seconds.
   */
  async claim(context: SourceContext): Promise<void> {
    const { epoch, isWhole = false } = this.#header ?? {
      epoch: Math.max(this.#epoch + 1, Math.floor(context.clock.now() / 1_000)),
    }
    await this.#send([], this.#before({ epoch }), isWhole, context)
  }

  /** Writes a batch. Returns the number of its changes. */
  async write({ changes, reached }: Outgoing, context: SourceContext): Promise<number> {
    // The first part has the header from before, and the last one the new one.
    const headers = [reached, this.#before(reached)].map((state) => headerText(this.#headerOf(state, false)))
    const reserve = Math.max(...headers.map((text) => Buffer.byteLength(text))) + 2 * CHANGE_BYTES
    const { maxChanges, maxBytes } = this.#store
    let part: TextChange[] = []
    let bytes = 0
    let count = 0
    let hasBegun = false
    for (const change of changes) {
      const fitting = this.#fitting(change, maxBytes - reserve)
      const size = sizeOf(fitting)
      // The header needs one change in the first and in the last part.
      if (part.length > 0 && (part.length + 1 >= maxChanges || bytes + size > maxBytes - reserve)) {
        await this.#part(part, hasBegun, reached, context)
        hasBegun = true
        part = []
        bytes = 0
      }
      part.push(fitting)
      bytes += size
      count++
    }
    if (part.length + 1 > maxChanges) {
      await this.#part(part, hasBegun, reached, context)
      part = []
    }
    await this.#send(part, reached, true, context)
    return count
  }

  /** A part that is not the last one. The first one says that the collection is not whole. */
  async #part(
    changes: readonly TextChange[],
    hasBegun: boolean,
    reached: Reached,
    context: SourceContext,
  ): Promise<void> {
    if (hasBegun) await this.#put(changes, context)
    else if (changes.length < this.#store.maxChanges) await this.#send(changes, this.#before(reached), false, context)
    else {
      await this.#send([], this.#before(reached), false, context)
      await this.#put(changes, context)
    }
  }

  async #put(changes: readonly TextChange[], context: SourceContext): Promise<void> {
    this.#position = await this.#store.write(changes, this.#position, context)
    this.#parts++
  }

  /** The state before a batch. Its epoch is the new one, so that followers of the old one do not collect the parts. */
  #before({ epoch }: Pick<Reached, 'epoch'>): Reached {
    const { version, fingerprint, hasFiltered, resumeState } = this.#header ?? {}
    return { epoch, version, fingerprint, hasFiltered, resumeState }
  }

  async #send(
    changes: readonly TextChange[],
    reached: Reached,
    isWhole: boolean,
    context: SourceContext,
  ): Promise<void> {
    const header = this.#headerOf(reached, isWhole)
    this.#write = header.write
    this.#unconfirmed = header.write
    const own = { key: HEADER_KEY, text: headerText(header) }
    this.#position = await this.#store.write([...changes, own], this.#position, context)
    this.#confirmed = header.write
    this.#unconfirmed = undefined
    this.#header = header
    this.#epoch = header.epoch
    if (changes.length > 0) this.#parts++
  }

  #headerOf(reached: Reached, isWhole: boolean): RelayHeader {
    return { writer: this.#id, write: this.#write + 1, isWhole, ...reached }
  }

  #fitting(change: TextChange, maxBytes: number): TextChange {
    const size = sizeOf(change)
    if (size <= maxBytes) return change
    return { key: change.key, text: unrelayedText(`it has ${size} bytes, and ${this.#store.name} takes ${maxBytes}`) }
  }
}

function sizeOf({ key, text }: TextChange): number {
  return Buffer.byteLength(key) + (text === undefined ? 0 : Buffer.byteLength(text)) + CHANGE_BYTES
}
