import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Inspector, serveInspector } from '../../inspector/index.js'
import { systemClock } from '../../src/contract/clock.js'
import type { MirrorState } from '../../src/contract/status.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Change } from '../../src/queue/change.js'
import type { Compound, Equal } from '../../src/store/indexes/index-types.js'
import { formatDuration, parseDuration } from '../args/duration.js'
import { colors } from '../bundled.js'
import { type DemoEngine, type Order, TENANTS } from '../demo/demo-writer.js'
import { postgresEngine } from '../demo/postgres-engine.js'
import { sqliteEngine } from '../demo/sqlite-engine.js'
import { ChangeLines } from '../output/change-lines.js'
import { CliError } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { RateMeter } from '../output/rate-meter.js'
import { coloured, counted, lagOf, sizeParts, stateLines, thousands, wrapParts } from '../output/status-view.js'
import { showView, sleepUnlessAborted } from '../output/terminal-ui.js'
import { INTERRUPTED, shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import { checkPostgresUrl } from '../sources/pg-client.js'
import type { Row } from '../sources/source-types.js'

export interface DemoFlags {
  readonly for?: string
  readonly disconnects?: number
  /** Default: Postgres; SQLite if a server can neither be found nor downloaded. */
  readonly engine?: 'postgres' | 'sqlite'
  readonly json?: boolean
  /** False with --no-inspect. */
  readonly inspect?: boolean
}

interface Indexes {
  readonly tenant: Equal<Order, string>
  readonly latest: Compound<Order, readonly [string, Date | number]>
}

type Outcome = Awaited<ReturnType<Demo['compare']>>

const NEWEST = 3
/** The heap is first measured this long after the start, in milliseconds, when the mirror has settled. */
const SETTLED_MS = 5_000

/**
 * Starts a database and a writer, mirrors the writer's table, and compares the mirror with the table at the end. With a
 * URL, it uses that server instead, and creates a database of its own there.
 */
export async function demo(given: string | undefined, flags: DemoFlags): Promise<void> {
  const url = given === undefined ? undefined : checkPostgresUrl(given)
  if (url !== undefined && flags.engine === 'sqlite') throw new CliError('--engine sqlite needs no URL')
  const forMs = flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
  const { disconnects = 0 } = flags
  if (disconnects > 0 && forMs === undefined)
    throw new CliError('--disconnects needs --for, over which they are spread')
  const shutdown = shutdownSignal()
  const say = (line: string): void => void (flags.json !== true && process.stdout.write(`${colors.dim(line)}\n`))
  const engine = await opened(url, flags.engine, say, shutdown.signal)
  if (engine === undefined) return
  const running = new Demo(engine, shutdown)
  try {
    await running.open()
    if (flags.inspect !== false && flags.json !== true) await running.serveInspector()
    shutDownAfter(forMs, shutdown)
    if (forMs !== undefined) void running.killEvery(forMs / (disconnects + 1), disconnects)
    if (flags.json === true) await sleepUnlessAborted(forMs ?? Number.MAX_SAFE_INTEGER, shutdown.signal)
    else await running.show()
    const outcome = await running.compare()
    process.stdout.write(`${flags.json === true ? JSON.stringify(outcome) : summaryOf(outcome)}\n`)
    if (outcome.differences > 0) process.exitCode = 1
  } finally {
    await running.close()
  }
}

/** Returns undefined if the demo is interrupted before its database exists. Afterwards an interrupt does not stop it. */
async function opened(
  url: string | undefined,
  engine: DemoFlags['engine'],
  say: (line: string) => void,
  shutdown: AbortSignal,
): Promise<DemoEngine | undefined> {
  if (engine === 'sqlite') return await sqliteEngine(say)
  const starting = new AbortController()
  const abort = (): void => starting.abort()
  shutdown.addEventListener('abort', abort)
  const warn = (line: string): void => void process.stderr.write(`${line}\n`)
  try {
    return await postgresEngine(url, say, warn, starting.signal)
  } catch (error) {
    if (shutdown.aborted) {
      process.exitCode = INTERRUPTED
      return undefined
    }
    if (url !== undefined || engine === 'postgres' || !(error instanceof CliError)) throw error
    warn(`listwatch: ${oneLine(error)}`)
    warn('so the demo uses SQLite, which Node includes')
    return await sqliteEngine(say)
  } finally {
    shutdown.removeEventListener('abort', abort)
  }
}

interface Broken {
  readonly at: number
  readonly trail: MirrorState[]
  forMs?: number
}

class Demo {
  readonly #shutdown: AbortController
  readonly #engine: DemoEngine
  readonly #orders: Informer<Order, Indexes>
  readonly #meter = new RateMeter()
  readonly #changes = new ChangeLines({ fields: ['tenant', 'status', 'cents'], isKubernetes: false })
  readonly #startedAt = systemClock.now()
  #inspector: Inspector | undefined
  #newest: readonly string[] = []
  #kills = 0
  /** The last kill, the states after it, and after what time the mirror was live again or the writer has written. */
  #broken: Broken | undefined
  #heapStartMb = 0

  constructor(engine: DemoEngine, shutdown: AbortController) {
    this.#shutdown = shutdown
    this.#engine = engine
    this.#orders = createInformer({
      source: engine.source,
      indexes: (ix): Indexes => ({
        tenant: ix.equal((order) => order.tenant),
        latest: ix.compound((order) => [order.tenant, order.updated_at]),
      }),
    })
    this.#orders.on('error', () => {}) // The live view shows the state and its reason.
    this.#orders.on('status', ({ state }) => this.#follow(state))
  }

  async open(): Promise<void> {
    await this.#engine.open()
    const count = (change: Change<Order> & { readonly origin: string }): void => {
      const now = systemClock.now()
      if (change.origin !== 'watch') return
      this.#meter.add(change.type === 'delete' ? undefined : now - Number(change.object.updated_at))
      this.#changes.add(now, change)
    }
    this.#orders.subscribe({ add: count, update: count, delete: count })
    await this.#orders.start().synced({ timeoutMs: 30_000 })
    this.#engine.startWriter()
    this.#heapStartMb = heapMb()
    void sleepUnlessAborted(SETTLED_MS, this.#shutdown.signal).then((isLong) => {
      if (isLong) this.#heapStartMb = heapMb()
    })
  }

  /** Kills the mirror's connection or the writer `times` times, with `ms` milliseconds before each. */
  async killEvery(ms: number, times: number): Promise<void> {
    for (let left = times; left > 0; left--) {
      if (!(await sleepUnlessAborted(ms, this.#shutdown.signal))) return
      this.#kill()
    }
  }

  async serveInspector(): Promise<void> {
    this.#inspector = await serveInspector([this.#orders])
    // Above the live view, which would cut an address that is wider than the terminal.
    process.stdout.write(`in a browser: ${this.#inspector.url}\n`)
  }

  async show(): Promise<void> {
    const end = (): void => this.#shutdown.abort()
    const keys = new Map([
      ['k', () => this.#kill()],
      ['q', end],
    ])
    const view = { frame: () => this.#frame(), line: () => this.#line() }
    await showView(view, keys, this.#shutdown.signal)
  }

  /** Waits until the mirror includes every commit, and compares it with the table row by row. */
  async compare() {
    await this.#engine.stopWriter()
    await this.#orders.fresh({ timeoutMs: 60_000 })
    const rows = await this.#engine.rows()
    const orderOf = ({ id }: Row): Order | undefined => this.#orders.get(String(id))
    const missing = this.#orders.size - rows.filter((row) => orderOf(row) !== undefined).length
    // Objects of a driver may have another prototype.
    const different = rows.filter((row) => !isDeepStrictEqual({ ...orderOf(row) }, { ...row })).length
    const { relists, reconnects } = this.#orders.status
    return {
      engine: this.#engine.victim === 'writer' ? 'sqlite' : 'postgres',
      mirrorRows: this.#orders.size,
      tableRows: rows.length,
      differences: missing + different,
      changes: this.#meter.total,
      transactions: this.#engine.transactions,
      seconds: Math.round((systemClock.now() - this.#startedAt) / 1_000),
      disconnects: this.#kills,
      reconnects,
      relists,
      lagP50Ms: this.#meter.lag(0.5),
      lagP99Ms: this.#meter.lag(0.99),
      heapStartMb: this.#heapStartMb,
      heapEndMb: heapMb(),
    }
  }

  async close(): Promise<void> {
    await this.#inspector?.close()
    await this.#orders.stop()
    await this.#engine.stopWriter().catch(() => {}) // `compare` has reported its error.
    await this.#engine.close()
  }

  #kill(): void {
    this.#kills++
    const broken: Broken = { at: systemClock.now(), trail: [] }
    this.#broken = broken
    const killed = (): void => {
      if (this.#engine.victim === 'writer') broken.forMs = systemClock.now() - broken.at
    }
    this.#engine.kill().then(killed, () => {}) // The demo has ended.
  }

  #frame(): string[] {
    const orders = this.#orders
    const [tenant = ''] = TENANTS
    const [latest] = orders.by.latest([tenant], { reverse: true, limit: 1 })
    this.#newest = [...this.#newest, ...this.#changes.take()].slice(-NEWEST)
    return [
      ...stateLines(this.#engine.source.name, orders.status),
      ...wrapParts(sizeParts(['rows', orders.size], this.#meter)),
      '',
      ...wrapParts([colors.bold('changes'), colors.dim('by a writer, as the mirror receives them')]),
      ...Array.from({ length: NEWEST }, (_, at) => `  ${this.#newest[at] ?? ''}`),
      ...wrapParts([colors.bold('reads'), colors.dim('by indexes in memory, without a query')]),
      ...read(`orders.by.tenant.count('${tenant}')`, thousands(orders.by.tenant.count(tenant))),
      ...read(
        `orders.by.latest(['${tenant}'], { reverse: true, limit: 1 })`,
        latest === undefined ? '–' : `#${latest.id} ${latest.status}`,
      ),
      ...this.#connectionLines(),
      '',
      ...wrapParts([
        colors.dim(`[k] kill the ${this.#engine.victim}`),
        colors.dim('[q] compare mirror and table, and quit'),
      ]),
    ]
  }

  #connectionLines(): string[] {
    const { reconnects, relists } = this.#orders.status
    const { victim } = this.#engine
    const broken = this.#broken
    const states = [...(broken?.trail ?? []), ...(broken?.forMs === undefined ? [] : ['live' as const])]
    const trail = states.map(coloured).join(' → ')
    const end = broken?.forMs === undefined ? '…' : `after ${Math.round(broken.forMs)} ms`
    return [
      ...wrapParts([
        colors.bold(victim),
        `killed ${counted(this.#kills, 'time')}${victim === 'writer' ? '' : `, resumed ${counted(reconnects, 'time')}`}`,
        `table read again ${counted(relists, 'time')}`,
      ]),
      trail === '' ? '' : `  ${trail} ${end}`,
    ]
  }

  #follow(state: MirrorState): void {
    const broken = this.#broken
    if (broken === undefined || broken.forMs !== undefined) return
    if (state !== 'live') broken.trail.push(state)
    else if (broken.trail.length > 0) broken.forMs = systemClock.now() - broken.at
  }

  #line(): string {
    const { state, relists, reconnects } = this.#orders.status
    return `${state}: ${this.#orders.size} rows, ${this.#meter.rate} changes/s, lag ${lagOf(this.#meter)}, ${reconnects} reconnects, ${relists} relists`
  }
}

function read(call: string, result: string): string[] {
  return wrapParts([`  ${call}`, colors.bold(result)])
}

/** One line; on a terminal one for each part. */
function summaryOf(outcome: Outcome): string {
  const { mirrorRows, tableRows, differences, changes, seconds, disconnects, reconnects, relists } = outcome
  const kills = counted(disconnects, outcome.engine === 'sqlite' ? 'killed writer' : 'disconnect')
  const differ = (differences === 0 ? colors.green : colors.red)(`${thousands(differences)} differ`)
  const faults = [kills, counted(reconnects, 'reconnect'), counted(relists, 'relist')]
  const parts = [
    `mirror ${thousands(mirrorRows)} rows, table ${thousands(tableRows)} rows, ${differ}`,
    [`${counted(changes, 'change')} in ${formatDuration(seconds * 1_000)}`, ...faults].join(', '),
    `lag p50 ${outcome.lagP50Ms ?? '–'} ms, p99 ${outcome.lagP99Ms ?? '–'} ms`,
    `heap ${outcome.heapStartMb} → ${outcome.heapEndMb} MB`,
  ]
  return parts.join(process.stdout.isTTY ? '\n' : '; ')
}

/** The used heap after a garbage collection, in megabytes with one decimal. */
function heapMb(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  collect()
  return Math.round((process.memoryUsage().heapUsed / 1024 ** 2) * 10) / 10
}
