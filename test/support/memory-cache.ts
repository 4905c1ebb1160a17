import type {
  MirrorCache,
  MirrorCacheContext,
  MirrorHeader,
  MirrorToSave,
  SavedMirror,
  SavedRecord,
} from '../../src/contract/mirror-cache.js'

interface Content {
  readonly fingerprint: string
  readonly savedAt: number
  readonly header: MirrorHeader
  readonly records: readonly SavedRecord[]
}

/** A cache in memory. Informers that start one after the other share it, like processes that share a file. */
export class MemoryCache implements MirrorCache {
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
      pages: () => this.#pages(content),
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

  async save({ records, ...header }: MirrorToSave, context: MirrorCacheContext): Promise<void> {
    this.contexts.push(context)
    const read: SavedRecord[] = []
    for (const record of records()) {
      await this.onSave?.()
      read.push(structuredClone(record))
    }
    if (read.length !== header.size) throw new Error(`${read.length} records instead of ${header.size}`)
    context.signal.throwIfAborted()
    this.content = { fingerprint: context.fingerprint, savedAt: context.clock.now(), header, records: read }
    this.saves.push(header.version)
  }
}
