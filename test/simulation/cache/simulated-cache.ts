import { SourceError } from '../../../src/contract/errors.js'
import type {
  MirrorCache,
  MirrorCacheContext,
  MirrorHeader,
  MirrorToSave,
  PackedContent,
  PackedPart,
  SavedMirror,
  SavedRecord,
} from '../../../src/contract/mirror-cache.js'
import { placed } from '../../support/packed.js'
import { onCacheWarning } from '../checkers/warning-checker.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { CachedDriver } from './cache-world.js'

/** Content that was saved as a whole. */
interface Content {
  readonly fingerprint: string
  readonly savedAt: number
  readonly header: MirrorHeader
  readonly records: readonly SavedRecord[]
  /** The packed form of the records: a record is packed as its number in `records`. Undefined if the cache has pages. */
  readonly parts: readonly PackedPart[] | undefined
  /** The number of the page that cannot be read, or after which the records end. */
  readonly damage: { readonly page: number; readonly isCut: boolean } | undefined
}

/** The rates of faults while a cache has any. */
const RATES = {
  'cache-open-fails': 0.08,
  'cache-open-hangs': 0.04,
  'cache-damaged': 0.12,
  'cache-cut': 0.06,
  'cache-save-fails': 0.15,
  'cache-save-hangs': 0.05,
  'cache-keeps-previous': 0.05,
  'cache-returns-previous': 0.05,
  'cache-reports-failure': 0.05,
  'cache-discard-fails': 0.1,
  'cache-slow': 0.15,
  'crash-in-save': 0.06,
} as const

/** The storage that outlives all processes of a schedule. */
export class SimulatedDisk {
  content: Content | undefined
  /** The content before it. A replaced disk may return it. */
  previous: Content | undefined
  readonly faultLevel: number
  readonly pageSize: number
  /** Whether objects are decoded when they are first read. */
  readonly isPacked: boolean

  constructor({ decisions }: Pick<SourceScenario, 'decisions'>) {
    this.faultLevel = decisions.pick('cache faults', [0, 1, 1, 3])
    this.pageSize = decisions.pick('cache page', [1, 2, 10])
    this.isPacked = decisions.chance('cache packs', 0.6)
  }
}

let count = 0

/** The cache of one process. It checks what the informer saves, and reads of it only what it may. */
export class SimulatedCache implements MirrorCache {
  readonly name: string = `simulated cache ${++count}`
  readonly serveStale: boolean
  readonly saveEveryMs: number
  readonly saveAfterShare: number
  readonly maxAgeMs: number
  /** Whether the store reads packed content in place. */
  readonly keepsPacked: boolean
  /** Selects nothing else; content of another selection may not be used. */
  readonly selection: string
  host: CachedDriver | undefined
  opens = 0
  unclosed = 0
  /** The code of the last failure, until a save succeeds: an error is reported once for each. */
  failure: string | undefined
  busy = 0
  saves = 0
  hasDiscardFailed = false
  readonly #scenario: SourceScenario
  readonly #disk: SimulatedDisk
  readonly #life: number
  #isDead = false
  readonly #died = Promise.withResolvers<never>()

  constructor(scenario: SourceScenario, disk: SimulatedDisk, life: number) {
    const { decisions } = scenario
    this.#scenario = scenario
    this.#disk = disk
    this.#life = life
    this.serveStale = decisions.chance('serves stale', 0.4)
    this.keepsPacked = decisions.chance('keeps packed', 0.5)
    this.saveEveryMs = decisions.pick('saves every', [10, 100, 1_000, 10_000])
    this.saveAfterShare = decisions.pick('saves after', [0.01, 0.1, 0.5, 1])
    this.maxAgeMs = decisions.pick('saves at least every', [50, 1_000, 20_000])
    this.selection = decisions.chance('selects', 0.12) && decisions.take(`selects#${life}`) ? 'other' : 'all'
    this.#died.promise.catch(() => {})
    onCacheWarning(this)
  }

  warned(): void {
    this.host?.warned()
  }

  /** The process is gone: nothing of it reaches the disk any more. */
  kill(): void {
    this.#isDead = true
    this.#died.reject(new Error('the process was killed'))
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** A failure is reported once, until a save succeeds or fails in another way. */
  reported(code: string): void {
    if (this.failure === code) this.#scenario.violate('cache', `${code} was reported again`)
    this.failure = code
  }

  get content(): Content | undefined {
    return this.#disk.content
  }

  async open(context: MirrorCacheContext): Promise<SavedMirror | undefined> {
    const { note, mark, violate } = this.#scenario
    const disk = this.#disk
    if (this.opens++ > 0) violate('cache', 'an informer opened its cache twice')
    if (context.isSensitive) violate('cache', 'the objects of this source are not secret')
    await this.#pause(context.signal)
    if (this.#strikes('cache-open-hangs')) await this.#hang(context.signal, 60_000)
    if (this.#strikes('cache-open-fails')) throw new Error('it cannot be read')
    if (disk.previous !== undefined && this.#strikes('cache-returns-previous')) disk.content = disk.previous
    const { content } = disk
    if (content === undefined) return undefined
    if (content.fingerprint !== context.fingerprint) {
      mark('saved content was of another selection')
      context.warn('the saved content is of another mirror')
      return undefined
    }
    note('opens the saved content of', content.header.version)
    if (!content.fingerprint.includes(`"${this.selection}"`))
      violate('cache', `content of the fingerprint ${content.fingerprint} was opened with ${this.selection}`)
    this.host?.opened(content.header.version)
    this.unclosed++
    let isOpen = true
    return {
      ...content.header,
      savedAt: content.savedAt,
      ...(content.parts === undefined
        ? { pages: () => this.#pages(content, context.signal) }
        : { packed: () => this.#packed(content, content.parts ?? [], context.signal, () => isOpen) }),
      keepsPacked: this.keepsPacked,
      close: async () => {
        if (isOpen) this.unclosed--
        isOpen = false
      },
    }
  }

  async *#pages({ records, damage }: Content, signal: AbortSignal): AsyncGenerator<readonly SavedRecord[]> {
    const { pageSize } = this.#disk
    if (signal.aborted) this.#scenario.violate('cache', 'the signal of `open` aborted before the content was read')
    for (let page = 0; page * pageSize < Math.max(1, records.length); page++) {
      await this.#pause(signal)
      this.host?.reading()
      if (page === damage?.page) {
        this.#scenario.mark('saved content was damaged')
        this.host?.damaged()
        if (damage.isCut) return
        throw new SourceError('a page is damaged', { code: 'DECODE' })
      }
      yield structuredClone(records.slice(page * pageSize, (page + 1) * pageSize))
    }
  }

  /** Checks all pages, and returns content whose objects are decoded when they are first read. */
  async #packed(
    content: Content,
    parts: readonly PackedPart[],
    signal: AbortSignal,
    isOpen: () => boolean,
  ): Promise<PackedContent> {
    const { records } = content
    let checked = 0
    for await (const page of this.#pages(content, signal)) checked += page.length
    if (checked !== records.length) throw new SourceError('it ends early', { code: 'DECODE' })
    const decoded = new Set<number>()
    const { violate, mark } = this.#scenario
    return {
      ...placed(parts),
      decode: (text) => {
        // A stopped informer stays readable.
        if (!isOpen() && !this.keepsPacked) violate('cache', 'an object of closed content was read')
        const record = records[Number(text)]
        if (record === undefined) throw new RangeError('there is no such record')
        if (this.keepsPacked && this.host?.isConfirmed === true)
          mark('an object was decoded after the source had confirmed it')
        if (decoded.size > 0 && decoded.size < records.length) mark('an object was decoded while others were not')
        decoded.add(Number(text))
        return structuredClone(record)
      },
    }
  }

  async save(mirror: MirrorToSave, context: MirrorCacheContext): Promise<void> {
    this.busy++
    this.saves++
    try {
      await this.#save(mirror, context)
    } finally {
      this.saves--
      this.busy--
    }
  }

  async #save({ records, pack, ...header }: MirrorToSave, { signal, fingerprint }: MirrorCacheContext): Promise<void> {
    const { clock, note } = this.#scenario
    if (this.busy > 1) this.#scenario.violate('cache', 'two calls of a cache at a time')
    this.#checkHeader(header)
    const read: SavedRecord[] = []
    const parts: PackedPart[] = []
    const encode = (record: SavedRecord): string => String(read.push(structuredClone(record)) - 1)
    await this.#written(signal)
    if (this.#disk.isPacked) {
      let count = 0
      for (const part of pack(encode, this.#life)) {
        if (part !== undefined) parts.push(part)
        if (read.length > count || part !== undefined) await this.#written(signal)
        count = read.length
      }
    } else {
      for (const record of records()) {
        encode(record)
        await this.#written(signal)
      }
    }
    if (this.#strikes('cache-save-hangs')) await this.#hang(signal, Infinity)
    if (this.#strikes('cache-save-fails')) throw new SourceError('the disk is full', { code: 'UNAVAILABLE' })
    if (read.length !== header.size)
      this.#scenario.violate('cache', `${read.length} records were saved, and ${header.size} were announced`)
    this.#checkRecords(header.version, read)
    await this.#written(signal)
    const page = Math.floor(
      this.#scenario.decisions.next('damaged page') * Math.ceil(read.length / this.#disk.pageSize),
    )
    const isDamaged = this.#strikes('cache-damaged')
    const damage = this.#strikes('cache-cut') ? { page, isCut: true } : isDamaged ? { page, isCut: false } : undefined
    // A cut after the last record damages nothing.
    const packed = this.#disk.isPacked ? parts : undefined
    const savedAt = clock.still(() => clock.wall)
    const content = { fingerprint, savedAt, header, records: read, parts: packed, damage }
    if (!this.#strikes('cache-keeps-previous')) {
      this.#disk.previous = this.#disk.content
      this.#disk.content = read.length === 0 && damage?.isCut ? { ...content, damage: undefined } : content
      note('saved', header.version)
    }
    await this.#written(signal)
    if (this.#strikes('cache-reports-failure')) throw new SourceError('the disk failed', { code: 'PROTOCOL' })
    this.failure = undefined
  }

  async discard({ signal }: MirrorCacheContext): Promise<void> {
    this.busy++
    if (this.busy > 1) this.#scenario.violate('cache', 'two calls of a cache at a time')
    try {
      await this.#pause(signal)
      this.hasDiscardFailed = this.#strikes('cache-discard-fails')
      if (this.hasDiscardFailed) throw new SourceError('it cannot be removed', { code: 'UNAVAILABLE' })
      this.#disk.content = undefined
      this.#disk.previous = undefined
      this.#scenario.note('discards the saved content')
      this.#scenario.mark('the saved content was removed because access was lost')
    } finally {
      this.busy--
    }
  }

  /** Only confirmed content of a history that continues may be saved. */
  #checkHeader({ version }: MirrorHeader): void {
    const { violate } = this.#scenario
    this.#scenario.note('saves', version)
    if (this.host?.isConfirmed === false) violate('cache', `${version} is saved, and the source has not confirmed it`)
    if (this.host?.forkedAt === version) violate('cache', `${version} is saved, and its history is over`)
  }

  /** The records are exactly one state of the source. */
  #checkRecords(version: string, records: readonly SavedRecord[]): void {
    const { settings, history, violate } = this.#scenario
    const { state } = history.at(version)
    const flaw = (key: string, what: string): void => violate('cache', `${nameOf(key)} was saved at ${version} ${what}`)
    const kinds = new Map<string, Set<string>>()
    for (const record of records) {
      const { key } = record
      const types = kinds.get(key) ?? new Set()
      kinds.set(key, types.add(record.type))
      const stored = state.get(key)
      if (stored === undefined) flaw(key, `as ${record.type}, and the source does not have it`)
      else if (record.type === 'entry' && !stored.isInvalid) {
        const { n } = record.object as { readonly n: number }
        if (n !== stored.item.n) flaw(key, `as n${n}, and the source has n${stored.item.n}`)
        if (record.version !== stored.revision) flaw(key, `as ${record.version}, the source has ${stored.revision}`)
      }
      if (record.type === 'invalid' && stored?.isInvalid === false) flaw(key, 'as invalid, and it decodes')
      // The state before an invalid one is kept: it may have been filtered out.
      if (record.type === 'filtered' && stored?.isInvalid === false && stored.item.tenant !== settings.omits)
        flaw(key, 'as filtered out, and it is not')
    }
    for (const { key, item, isInvalid } of state.values()) {
      const types = kinds.get(key)
      const wanted = isInvalid ? 'invalid' : item.tenant === settings.omits ? 'filtered' : 'entry'
      if (types?.has(wanted) !== true && wanted !== 'filtered') flaw(key, `without its record "${wanted}"`)
      if (wanted === 'filtered' && types?.has('entry') === true) flaw(key, 'as an entry, and it is filtered out')
    }
  }

  /** Between two writes: the process may be killed here. */
  async #written(signal: AbortSignal): Promise<void> {
    if (this.#strikes('crash-in-save')) {
      this.#scenario.mark('a process was killed in the middle of a save')
      this.host?.crash()
    }
    await this.#pause(signal)
  }

  async #pause(signal: AbortSignal): Promise<void> {
    if (this.#isDead) return this.#died.promise
    const { clock, decisions, settings } = this.#scenario
    const slow = this.#strikes('cache-slow') ? 40 : 1
    const ms = decisions.next('cache latency') < 0.3 ? 0 : decisions.next('cache latency') * settings.latencyMs * slow
    if (ms > 0) await this.#raced(clock.sleep(ms), signal)
    else if (this.#isDead) await this.#died.promise
  }

  async #hang(signal: AbortSignal, ms: number): Promise<void> {
    this.#scenario.note('the cache hangs')
    this.#scenario.mark('a cache did not answer')
    await this.#raced(ms === Infinity ? new Promise<void>(() => {}) : this.#scenario.clock.sleep(ms), signal)
  }

  #raced(work: Promise<void>, signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => aborted.reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    return Promise.race([work, aborted.promise, this.#died.promise]).finally(() =>
      signal.removeEventListener('abort', abort),
    )
  }

  #strikes(fault: keyof typeof RATES): boolean {
    const { decisions } = this.#scenario
    if (decisions.isQuiet || this.#isDead) return false
    const stream = decisions.of(fault)
    return (
      stream.next() < RATES[fault] * this.#disk.faultLevel && decisions.take(`${fault}#${this.#life}.${stream.drawn}`)
    )
  }
}
