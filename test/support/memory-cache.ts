import type {
  MirrorCache,
  MirrorCacheContext,
  MirrorHeader,
  MirrorToSave,
  PackedContent,
  PackedPart,
  SavedMirror,
  SavedRecord,
} from '../../src/contract/mirror-cache.js'
import { placed } from './packed.js'

interface Content {
  readonly fingerprint: string
  readonly savedAt: number
  readonly header: MirrorHeader
  readonly records: readonly SavedRecord[]
  /** The packed form of the records, if the cache packs them. A record is packed as its number in `records`. */
  readonly parts?: readonly PackedPart[] | undefined
}

/** A cache in memory. Informers that start one after the other share it, like processes that share a file. */
export class MemoryCache implements MirrorCache {
  /** Whether caches that are created from now on pack their content. */
  static packs = false
  /** Whether stores read the content of caches that are created from now on in place. */
  static keeps = false
  readonly name = 'memory:cache'
  serveStale = false
  saveEveryMs = 60_000
  saveAfterShare = 0.1
  maxAgeMs = 600_000
  content: Content | undefined
  /** The versions that were saved. */
  readonly saves: string[] = []
  readonly warnings: string[] = []
  readonly contexts: MirrorCacheContext[] = []
  /** The number of contents that were opened and not closed. */
  opened = 0
  /** The page of this index, counted from 1, fails when it is read. */
  damagedPage: number | undefined
  /** Awaited before content is opened, between two pages, and before each record that is saved. */
  onOpen: (() => unknown) | undefined
  onPage: (() => unknown) | undefined
  onSave: (() => unknown) | undefined
  pageSize = 2
  /** Whether the content is packed, so that an object is decoded when it is first read. */
  isPacked: boolean = MemoryCache.packs
  /** Whether the store reads packed content in place. */
  keepsPacked: boolean = MemoryCache.keeps
  /** The keys whose records cannot be decoded when they are first read. */
  readonly damagedKeys = new Set<string>()
  /** Called when a record is decoded. */
  onDecode: ((key: string) => unknown) | undefined

  async open(context: MirrorCacheContext): Promise<SavedMirror | undefined> {
    this.contexts.push(context)
    await this.onOpen?.()
    const { content } = this
    if (content === undefined) return undefined
    if (content.fingerprint !== context.fingerprint) {
      context.warn('the saved content is of another mirror')
      return undefined
    }
    this.opened++
    let isOpen = true
    return {
      ...content.header,
      savedAt: content.savedAt,
      ...(content.parts === undefined
        ? { pages: () => this.#pages(content) }
        : { packed: () => this.#packed(content, content.parts ?? [], () => isOpen) }),
      keepsPacked: this.keepsPacked,
      close: async () => {
        if (isOpen) this.opened--
        isOpen = false
      },
    }
  }

  async discard(): Promise<void> {
    this.content = undefined
  }

  async *#pages({ records }: Content): AsyncGenerator<readonly SavedRecord[]> {
    for (let page = 1; (page - 1) * this.pageSize < records.length; page++) {
      await this.onPage?.()
      if (page === this.damagedPage) throw new Error(`page ${page} is damaged`)
      yield records.slice((page - 1) * this.pageSize, page * this.pageSize)
    }
  }

  async #packed({ records }: Content, parts: readonly PackedPart[], isOpen: () => boolean): Promise<PackedContent> {
    for (let page = 1; (page - 1) * this.pageSize < records.length; page++) {
      await this.onPage?.()
      if (page === this.damagedPage) throw new Error(`page ${page} is damaged`)
    }
    const decode = (text: string): SavedRecord => {
      const record = records[Number(text)]
      if (record === undefined) throw new RangeError('there is no such record')
      if (!isOpen() && !this.keepsPacked) throw new Error('the content was closed')
      this.onDecode?.(record.key)
      if (this.damagedKeys.has(record.key)) throw new Error(`the block of ${record.key} is damaged`)
      return structuredClone(record)
    }
    return { ...placed(parts), decode }
  }

  async save({ records, pack, ...header }: MirrorToSave, context: MirrorCacheContext): Promise<void> {
    this.contexts.push(context)
    const read: SavedRecord[] = []
    const parts: PackedPart[] = []
    const encode = (record: SavedRecord): string => String(read.push(structuredClone(record)) - 1)
    if (this.isPacked) {
      for (const part of pack(encode, 7)) {
        await this.onSave?.()
        if (part !== undefined) parts.push(part)
      }
    } else {
      for (const record of records()) {
        await this.onSave?.()
        encode(record)
      }
    }
    if (read.length !== header.size) throw new Error(`${read.length} records instead of ${header.size}`)
    context.signal.throwIfAborted()
    this.content = {
      fingerprint: context.fingerprint,
      savedAt: context.clock.now(),
      header,
      records: read,
      parts: this.isPacked ? parts : undefined,
    }
    this.saves.push(header.version)
  }
}
