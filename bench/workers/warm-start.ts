// Starts a mirror and reads from it: node warm-start.ts save|cache|list|postgres <rows> <path of the file, or URL>
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer, type ListerWatcher } from 'listwatch'
import type { MirrorCache, Put } from 'listwatch/adapter'
import { fileCache } from 'listwatch/file-cache'
import { longestPause } from './gc-pauses.ts'

interface Row {
  readonly id: string
  readonly tenant: string
  readonly status: string
  readonly created: number
  readonly note: string
}

/** What one process measured. */
export interface WarmStart {
  /** From the start of the process to the first right `get` and lookup in each index. */
  readonly readyMs: number
  /** From the start of the process until all objects are decoded, for `cache`. */
  readonly filledMs: number
  /** The longest block of the event loop until then. */
  readonly longestMs: number
  /** The longest pause for garbage collection in that time. */
  readonly pauseMs: number
  /** Of the save, for `save`. */
  readonly saveMs: number
  readonly saveCpuMs: number
  readonly saveLongestMs: number
  readonly savePauseMs: number
}

const [contestant = '', count = '', where = ''] = process.argv.slice(2)
const rows = Number(count)

/** A row of about 300 bytes of JSON, parsed as every driver must. */
function row(i: number): Row {
  return JSON.parse(
    `{"id":"${i}","tenant":"tenant-${i % 1_000}","status":"s${i % 7}","created":${i},"note":"${'x'.repeat(220)}"}`,
  )
}

const memory: ListerWatcher<Row> = {
  name: 'bench',
  hasReached: (at, mark) => Number(at) >= Number(mark),
  async *list({ pageSize }) {
    if (contestant === 'cache') throw new Error('the source was listed')
    for (let at = 0; at < rows; at += pageSize) {
      const size = Math.min(pageSize, rows - at)
      yield {
        events: Array.from(
          { length: size },
          (_, nth): Put<Row> => ({ type: 'put', key: `${at + nth}`, object: row(at + nth) }),
        ),
      }
      await new Promise(setImmediate) // A real source waits for its server.
    }
    yield { events: [], version: '1' }
  },
  async *watch({ signal }) {
    yield { events: [], version: '1' }
    await new Promise<never>((_resolve, reject) => signal.addEventListener('abort', reject, { once: true }))
  },
}

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const save = { begun: 0, ms: 0, cpuMs: 0, longestMs: 0 }
const saved = Promise.withResolvers<void>()

/** A file that measures its first save. The file is the only work then. */
function measured(path: string): MirrorCache {
  const file = fileCache({ path })
  const { name, serveStale, saveEveryMs, saveAfterShare, maxAgeMs } = file
  const measuredSave: MirrorCache['save'] = async (mirror, context) => {
    // The garbage of the list: a later save does not meet the end of its collection.
    globalThis.gc?.()
    await sleep(50)
    delay.reset()
    const [cpu, begun] = [process.cpuUsage(), performance.now()]
    await file.save(mirror, context)
    const { user, system } = process.cpuUsage(cpu)
    Object.assign(save, { begun, ms: performance.now() - begun })
    save.cpuMs = (user + system) / 1_000
    save.longestMs = delay.max / 1e6
    saved.resolve()
  }
  return {
    name,
    serveStale,
    saveEveryMs,
    saveAfterShare,
    maxAgeMs,
    open: (context) => file.open(context),
    save: measuredSave,
  }
}

/** The driver is loaded by the process that needs it. */
async function table(): Promise<ListerWatcher<Row>> {
  const [{ postgresSource }, { default: pg }] = await Promise.all([import('listwatch/postgres'), import('pg')])
  return postgresSource<Row>({ connect: () => new pg.Client({ connectionString: where }), table: 'bench' })
}

const informer = createInformer({
  source: contestant === 'postgres' ? await table() : memory,
  indexes: (ix) => ({
    tenant: ix.equal((each) => each.tenant),
    status: ix.equal((each) => each.status),
    created: ix.ordered((each) => each.created),
  }),
  ...((contestant === 'save' || contestant === 'cache') && { cache: measured(where) }),
})
await informer.start().synced({ timeoutMs: 600_000 })
const last = informer.get(String(rows - 1))
const isRight =
  last?.note.length === 220 &&
  informer.by.tenant.count('tenant-7') === Math.ceil((rows - 7) / 1_000) &&
  informer.by.status.count('s1') === Math.ceil((rows - 1) / 7) &&
  informer.by.created.entriesIn({ limit: 1 }).next().value?.[0] === '0'
if (!isRight) throw new Error(`${contestant}: the reads are wrong`)
const readyMs = performance.now()
// It is built when the store is filled.
if (contestant === 'cache') await informer.addIndex('none', (ix) => ix.equal<string>(() => undefined))
const filledMs = performance.now()
const longestMs = delay.max / 1e6
if (contestant === 'save') await saved.promise
await sleep(50) // The last pauses are reported later.
const result: WarmStart = {
  readyMs,
  filledMs,
  longestMs,
  pauseMs: longestPause(0, filledMs),
  saveMs: save.ms,
  saveCpuMs: save.cpuMs,
  saveLongestMs: save.longestMs,
  savePauseMs: longestPause(save.begun, save.begun + save.ms),
}
console.log(JSON.stringify(result))
process.exit()
