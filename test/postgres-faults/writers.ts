import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { SeededRandom } from '../../testing/seeded-random.js'
import type { Sql, Subject, Upset } from './subjects.js'

export type WriterCounts = Map<string, number>

/** How far back the log reaches: less than the slow readers need. */
const RETENTION_MS = 1_200
/** The longest wait for rows of another session: a long transaction must delay only itself. */
const LOCK_TIMEOUT_MS = 250

/**
 * Writes to one table from many connections, as a seed has it, until it is stopped. A kind of thing that has not
 * happened yet happens at the next opportunity, whatever the seed has: no run is without it.
 */
export class Writers {
  readonly counts: WriterCounts = new Map()
  readonly #config: ClientConfig
  readonly #subject: Subject
  readonly #seed: number
  readonly #stop = new AbortController()
  readonly #running: Promise<void>[] = []
  #prepared = 0
  /** Called when mirrors may read the table again. */
  onMended: () => void = () => {}

  constructor(config: ClientConfig, subject: Subject, seed: number) {
    this.#config = config
    this.#subject = subject
    this.#seed = seed
  }

  start(connections: number): void {
    for (let n = 0; n < connections; n++) this.#running.push(this.#write(new SeededRandom(this.#seed + n * 104_729)))
    this.#running.push(this.#trim(), this.#upset(new SeededRandom(this.#seed ^ 0x5eed)))
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
  }

  get owed(): string[] {
    const kinds = ['committed', 'rolled back', 'savepoint', 'long', 'trimmed rows', ...this.#subject.upsets.keys()]
    if (this.#subject.canPrepare) kinds.push('commit prepared', 'rollback prepared')
    return kinds.filter((kind) => !this.#has(kind))
  }

  get summary(): string {
    return [...this.counts].map(([kind, times]) => `${kind} ${times}`).join(', ')
  }

  async #write(random: SeededRandom): Promise<void> {
    await this.#connected(async (client) => {
      while (!this.#stop.signal.aborted) {
        try {
          await this.#transaction(client, random)
        } catch {
          // A conflict, a deadlock, a lock that took too long: as applications have them.
          this.#count('failed')
          await client.query('ROLLBACK')
        }
      }
    })
  }

  async #transaction(client: Client, random: SeededRandom): Promise<void> {
    const { canPrepare } = this.#subject
    const isLong = this.#wants('long', random.chance(0.004))
    await client.query('BEGIN')
    for (let left = 1 + random.below(4); left > 0; left--) {
      if (this.#wants('savepoint', random.chance(0.3))) await this.#nested(client, random)
      else await this.#run(client, random.pick(this.#subject.writes)(random))
      if (random.chance(0.3)) await sleep(random.below(10))
      if (isLong && left === 1) {
        this.#count('long')
        await this.#pause(500 + random.below(3_500))
      }
    }
    const isOwed = canPrepare && !(this.#has('commit prepared') && this.#has('rollback prepared'))
    if (this.#wants('rolled back', random.chance(0.15))) {
      await client.query('ROLLBACK')
      this.#count('rolled back')
    } else if (isOwed || (canPrepare && random.chance(0.1))) await this.#prepare(client, random)
    else {
      await client.query('COMMIT')
      this.#count('committed')
    }
  }

  /** A savepoint, perhaps in a savepoint, which may be rolled back. */
  async #nested(client: Client, random: SeededRandom): Promise<void> {
    await client.query('SAVEPOINT a')
    this.#count('savepoint')
    try {
      await this.#run(client, random.pick(this.#subject.writes)(random))
      if (random.chance(0.2)) await this.#nested(client, random)
    } catch {
      await client.query('ROLLBACK TO a')
    }
    if (random.chance(0.4)) await client.query('ROLLBACK TO a')
    else if (random.chance(0.5)) await client.query('RELEASE a')
  }

  async #prepare(client: Client, random: SeededRandom): Promise<void> {
    const name = `${this.#subject.table} ${this.#prepared++}`
    await client.query(`PREPARE TRANSACTION '${name}'`)
    await this.#pause(random.chance(0.1) ? random.below(1_500) : random.below(60))
    const isKept = !this.#wants('rollback prepared', random.chance(0.3)) || !this.#has('commit prepared')
    const ending = isKept ? 'COMMIT' : 'ROLLBACK'
    await client.query(`${ending} PREPARED '${name}'`)
    this.#count(`${ending.toLowerCase()} prepared`)
  }

  async #run(client: Client, { text, values }: Sql): Promise<void> {
    await client.query(text, values === undefined ? [] : [...values])
  }

  async #trim(): Promise<void> {
    await this.#connected(async (client) => {
      while (!this.#stop.signal.aborted) {
        // It fails if a log was dropped meanwhile, by an installation.
        const { rows } = await client
          .query(`SELECT listwatch.trim('${RETENTION_MS} ms')::int AS rows`)
          .catch(() => ({ rows: [{ rows: 0 }] }))
        this.#count('trimmed rows', Math.max(0, rows[0].rows))
        await this.#pause(200)
      }
    })
  }

  /** Makes all readers list the table again: at times two soon after each other, so that a list meets the second. */
  async #upset(random: SeededRandom): Promise<void> {
    await this.#connected(async (client) => {
      for (;;) {
        await this.#pause(1_500 + random.below(2_000))
        for (let left = random.chance(0.5) ? 2 : 1; left > 0; left--) {
          if (this.#stop.signal.aborted) return
          const [kind, upsets] = this.#nextUpset(random)
          const upset = random.pick(upsets)
          const text = typeof upset === 'string' ? upset : upset.demote
          const isDone = await this.#locked(client, text, 50 + random.below(500))
          if (isDone) this.#count(kind)
          if (isDone && typeof upset !== 'string') await this.#mend(client, upset.mend, random.below(1_500))
          if (left > 1) await this.#pause(100 + random.below(200))
        }
      }
    })
  }

  /** After a while, even if it is being stopped: mirrors are to recover before they are compared with the table. */
  async #mend(client: Client, text: string, ms: number): Promise<void> {
    await this.#pause(ms)
    while (!(await this.#locked(client, text, 0, Number.POSITIVE_INFINITY)));
    this.onMended()
  }

  #nextUpset(random: SeededRandom): [kind: string, upsets: readonly Upset[]] {
    const upsets = [...this.#subject.upsets]
    const owed = upsets.find(([kind]) => !this.#has(kind))
    return owed ?? random.pick([...upsets, ...upsets.slice(0, 1), ...upsets.slice(0, 1)])
  }

  /** Holds the table for a while. Returns false without the lock, which a long transaction holds. */
  async #locked(client: Client, text: string, ms: number, tries = 8): Promise<boolean> {
    const isUrgent = tries === Number.POSITIVE_INFINITY
    for (let left = tries; left > 0 && (isUrgent || !this.#stop.signal.aborted); left--) {
      try {
        await client.query(
          `BEGIN; SET LOCAL lock_timeout = ${2 * LOCK_TIMEOUT_MS}; LOCK TABLE ${this.#subject.table} IN ACCESS EXCLUSIVE MODE; ${text}`,
        )
        await this.#pause(ms)
        await client.query('COMMIT')
        return true
      } catch {
        await client.query('ROLLBACK')
        await this.#pause(50)
      }
    }
    return false
  }

  async #connected(work: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client(this.#config)
    await client.connect()
    await using _ = { [Symbol.asyncDispose]: () => client.end() }
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await work(client)
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {}) // It was stopped.
  }

  #has(kind: string): boolean {
    return (this.counts.get(kind) ?? 0) > 0
  }

  #wants(kind: string, isDrawn: boolean): boolean {
    return isDrawn || !this.#has(kind)
  }

  #count(kind: string, times = 1): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + times)
  }
}
