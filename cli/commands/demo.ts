import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { installChangeLog, type PostgresSource, postgresSource } from '../../adapters/postgres/index.js'
import { type Inspector, serveInspector } from '../../inspector/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { systemRandom } from '../../src/contract/random.js'
import type { MirrorState } from '../../src/contract/status.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Change } from '../../src/queue/change.js'
import type { Compound, Equal } from '../../src/store/indexes/index-types.js'
import { formatDuration, parseDuration } from '../args/duration.js'
import { colors } from '../bundled.js'
import { demoPackages } from '../demo/demo-packages.js'
import { createDatabase, type DemoServer, startServer } from '../demo/demo-server.js'
import { DemoWriter, type Order, TENANTS } from '../demo/demo-writer.js'
import { heapMb } from '../demo/heap-usage.js'
import { ChangeLines } from '../output/change-lines.js'
import { CliError } from '../output/cli-error.js'
import { RateMeter } from '../output/rate-meter.js'
import { coloured, lagOf, sizeParts, stateLines, thousands, wrapParts } from '../output/status-view.js'
import { showView, sleepUnlessAborted } from '../output/terminal-ui.js'
import { shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import { checkPostgresUrl } from '../sources/pg-client.js'

export interface DemoFlags {
  readonly for?: string
  readonly disconnects?: string
  readonly json?: boolean
  /** False with --no-inspect. */
  readonly inspect?: boolean
}

interface Indexes {
  readonly tenant: Equal<Order, string>
  readonly latest: Compound<Order, readonly [string, Date]>
}

/** The result of the demo. */
interface Outcome {
  readonly mirrorRows: number
  readonly tableRows: number
  readonly differences: number
  readonly changes: number
  readonly transactions: number
  readonly seconds: number
  readonly disconnects: number
  readonly reconnects: number
  readonly relists: number
  readonly lagP50Ms: number | undefined
  readonly lagP99Ms: number | undefined
  readonly heapStartMb: number
  readonly heapEndMb: number
}

/** The application name of the mirror's connections. */
const MIRROR = 'listwatch-demo-mirror'
/** The live view shows this number of changes. */
const NEWEST = 3
/** The exit code if the demo was interrupted before it could compare anything. */
const INTERRUPTED = 130
/** The heap is first measured this long after the start, in milliseconds, when the mirror has settled. */
const SETTLED_MS = 5_000

/**
 * Starts a real Postgres and a writer, mirrors the writer's table, and compares the mirror with the table at the end. With a URL,
 * it uses that server instead, and creates a database of its own there.
 */
export async function demo(given: string | undefined, flags: DemoFlags): Promise<void> {
  const url = given === undefined ? undefined : checkPostgresUrl(given)
  const forMs = flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
  const disconnects = countOf(flags.disconnects)
  if (disconnects > 0 && forMs === undefined)
    throw new CliError('--disconnects needs --for, over which they are spread')
  const shutdown = shutdownSignal()
  const say = (line: string): void => void (flags.json !== true && process.stdout.write(`${colors.dim(line)}\n`))
  const open = await opened(url, say, shutdown.signal)
  if (open === undefined) return
  const { driver, server } = open
  try {
    const clientFor = (application_name: string): pg.Client => {
      const client = new driver.Client({ connectionString: server.url, application_name })
      return client.on('error', () => {}) // The pending query rejects with the same error.
    }
    const running = new Demo(clientFor, shutdown)
    try {
      await running.open()
      if (flags.inspect !== false && flags.json !== true) await running.serveInspector()
      shutDownAfter(forMs, shutdown)
      if (forMs !== undefined) void running.disconnectEvery(forMs / (disconnects + 1), disconnects)
      if (flags.json === true) await sleepUnlessAborted(forMs ?? Number.MAX_SAFE_INTEGER, systemClock, shutdown.signal)
      else await running.show()
      const outcome = await running.compare()
      process.stdout.write(`${flags.json === true ? JSON.stringify(outcome) : summaryOf(outcome)}\n`)
      if (outcome.differences > 0) process.exitCode = 1
    } finally {
      await running.close()
    }
  } finally {
    await server.stop()
  }
}

/** Returns undefined if the demo is interrupted before its database exists. Afterwards an interrupt does not stop the server. */
async function opened(
  url: string | undefined,
  say: (line: string) => void,
  shutdown: AbortSignal,
): Promise<{ readonly driver: typeof pg; readonly server: DemoServer } | undefined> {
  const starting = new AbortController()
  const abort = (): void => starting.abort()
  shutdown.addEventListener('abort', abort)
  try {
    const onStderr = (line: string): void => void process.stderr.write(`${line}\n`)
    const packages = await demoPackages(url !== undefined, onStderr, starting.signal)
    say(url === undefined ? 'starting a Postgres server …' : 'creating a database on the server …')
    const server = await (url === undefined ? startServer(packages, starting.signal) : createDatabase(url, packages))
    return { driver: packages.driver, server }
  } catch (error) {
    if (!shutdown.aborted) throw error
    process.exitCode = INTERRUPTED
    return undefined
  } finally {
    shutdown.removeEventListener('abort', abort)
  }
}

/** The writer, the mirror and the live view of the demo. */
class Demo {
  readonly #shutdown: AbortController
  readonly #control: pg.Client
  readonly #writing: pg.Client
  readonly #writer: DemoWriter
  readonly #source: PostgresSource<Order>
  readonly #orders: Informer<Order, Indexes>
  readonly #meter = new RateMeter(systemClock)
  readonly #changes = new ChangeLines({ fields: ['tenant', 'status', 'cents'], isKubernetes: false })
  readonly #startedAt = systemClock.now()
  #inspector: Inspector | undefined
  #newest: readonly string[] = []
  #disconnects = 0
  /** The last disconnect, the states after it, and after what time the mirror was live again. */
  #broken: { readonly at: number; readonly trail: MirrorState[]; forMs?: number } | undefined
  #heapStartMb = 0

  constructor(clientFor: (application: string) => pg.Client, shutdown: AbortController) {
    this.#shutdown = shutdown
    this.#control = clientFor('listwatch-demo-control')
    this.#writing = clientFor('listwatch-demo-writer')
    this.#writer = new DemoWriter(this.#writing, systemClock, systemRandom)
    this.#source = postgresSource<Order>({ connect: () => clientFor(MIRROR), table: 'orders' })
    this.#orders = createInformer({
      source: this.#source,
      indexes: (ix): Indexes => ({
        tenant: ix.equal((order) => order.tenant),
        latest: ix.compound((order) => [order.tenant, order.updated_at]),
      }),
    })
    this.#orders.on('error', () => {}) // The live view shows the state and its reason.
    this.#orders.on('status', ({ state }) => this.#follow(state))
  }

  async open(): Promise<void> {
    await Promise.all([this.#control.connect(), this.#writing.connect()])
    await this.#writer.createTable()
    await installChangeLog(this.#control, { table: 'orders' })
    const count = (change: Change<Order> & { readonly origin: string }): void => {
      const now = systemClock.now()
      if (change.origin !== 'watch') return
      this.#meter.add(change.type === 'delete' ? undefined : now - change.object.updated_at.getTime())
      this.#changes.add(now, change)
    }
    this.#orders.subscribe({ add: count, update: count, delete: count })
    await this.#orders.start().synced({ timeoutMs: 30_000 })
    this.#writer.start()
    this.#heapStartMb = heapMb()
    void sleepUnlessAborted(SETTLED_MS, systemClock, this.#shutdown.signal).then((isLong) => {
      if (isLong) this.#heapStartMb = heapMb()
    })
  }

  /** Kills the mirror's connection `times` times, with `ms` milliseconds before each. */
  async disconnectEvery(ms: number, times: number): Promise<void> {
    for (let left = times; left > 0; left--) {
      if (!(await sleepUnlessAborted(ms, systemClock, this.#shutdown.signal))) return
      this.#disconnect()
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
      ['k', () => this.#disconnect()],
      ['q', end],
    ])
    const view = { frame: () => this.#frame(), line: () => this.#line() }
    await showView(view, keys, systemClock, this.#shutdown.signal)
  }

  /** Waits until the mirror includes every commit, and compares it with the table row by row. */
  async compare(): Promise<Outcome> {
    await this.#writer.stop()
    await this.#orders.fresh({ timeoutMs: 60_000 })
    const { rows } = await this.#control.query<Order>('SELECT * FROM orders')
    const missing = this.#orders.size - rows.filter(({ id }) => this.#orders.has(id)).length
    const different = rows.filter((row) => !isDeepStrictEqual(this.#orders.get(row.id), row)).length
    const { relists, reconnects } = this.#orders.status
    return {
      mirrorRows: this.#orders.size,
      tableRows: rows.length,
      differences: missing + different,
      changes: this.#meter.total,
      transactions: this.#writer.transactions,
      seconds: Math.round((systemClock.now() - this.#startedAt) / 1_000),
      disconnects: this.#disconnects,
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
    await this.#writer.stop().catch(() => {}) // `compare` has reported its error.
    await Promise.all([this.#control.end(), this.#writing.end()])
  }

  #disconnect(): void {
    this.#disconnects++
    this.#broken = { at: systemClock.now(), trail: [] }
    const sql =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()'
    this.#control.query(sql, [MIRROR]).catch(() => {}) // The demo has ended.
  }

  #frame(): string[] {
    const orders = this.#orders
    const [tenant = ''] = TENANTS
    const [latest] = orders.by.latest([tenant], { reverse: true, limit: 1 })
    this.#newest = [...this.#newest, ...this.#changes.take()].slice(-NEWEST)
    return [
      ...stateLines(this.#source.name, orders.status),
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
      ...wrapParts([colors.dim('[k] kill the connection'), colors.dim('[q] compare mirror and table, and quit')]),
    ]
  }

  #connectionLines(): string[] {
    const { reconnects, relists } = this.#orders.status
    const broken = this.#broken
    const states = [...(broken?.trail ?? []), ...(broken?.forMs === undefined ? [] : ['live' as const])]
    const trail = states.map(coloured).join(' → ')
    const end = broken?.forMs === undefined ? '…' : `after ${Math.round(broken.forMs)} ms`
    return [
      ...wrapParts([
        colors.bold('connection'),
        `killed ${counted(this.#disconnects, 'time')}, resumed ${counted(reconnects, 'time')}`,
        `table read again ${counted(relists, 'time')}`,
      ]),
      trail === '' ? '' : `  ${trail} ${end}`,
    ]
  }

  /** Records the states from a disconnect until the mirror is live again. */
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

/** A read by an index, and its result. */
function read(call: string, result: string): string[] {
  return wrapParts([`  ${call}`, colors.bold(result)])
}

function counted(count: number, noun: string): string {
  return `${thousands(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** One line; on a terminal one for each part. */
function summaryOf(outcome: Outcome): string {
  const { mirrorRows, tableRows, differences, changes, seconds, disconnects, reconnects, relists } = outcome
  const differ = (differences === 0 ? colors.green : colors.red)(`${thousands(differences)} differ`)
  const faults = [counted(disconnects, 'disconnect'), counted(reconnects, 'reconnect'), counted(relists, 'relist')]
  const parts = [
    `mirror ${thousands(mirrorRows)} rows, table ${thousands(tableRows)} rows, ${differ}`,
    [`${counted(changes, 'change')} in ${formatDuration(seconds * 1_000)}`, ...faults].join(', '),
    `lag p50 ${outcome.lagP50Ms ?? '–'} ms, p99 ${outcome.lagP99Ms ?? '–'} ms`,
    `heap ${outcome.heapStartMb} → ${outcome.heapEndMb} MB`,
  ]
  return parts.join(process.stdout.isTTY ? '\n' : '; ')
}

function countOf(text: string | undefined): number {
  const count = text === '' ? Number.NaN : Number(text ?? 0)
  if (Number.isSafeInteger(count) && count >= 0) return count
  throw new CliError(`--disconnects needs a whole number, got "${text}"`)
}
