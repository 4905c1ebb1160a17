// Follows an engine, or writes to one, as the parent process asks: node sustained.ts <engine> <address>
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer } from 'listwatch'
import { type Engine, ROWS, type Write } from '../sustained/engine.ts'
import { engines } from '../sustained/engines.ts'

/** What the parent process asks; each question has one answer. */
export type Question =
  | { readonly ask: 'follow'; readonly contestant: 'listwatch' | 'bare' }
  | { readonly ask: 'write'; readonly perSecond: number; readonly seconds: number; readonly together: number }
  | { readonly ask: 'load' }
  | { readonly ask: 'reset' }
  | { readonly ask: 'received'; readonly withinMs: number }

/** How many rows were written, in how many seconds. */
export interface Written {
  readonly rows: number
  readonly seconds: number
}

/** How many rows were received. */
export interface Received {
  readonly rows: number
  /** The rows of them that were younger than `withinMs`. */
  readonly inTime: number
  /** The median of their ages, in milliseconds. */
  readonly medianMs: number
  /** CPU time of the process meanwhile, in microseconds. */
  readonly cpuMicros: number
}

/** Rows of one call of a writer. */
const CHUNK = 100
const LONGEST_MS = 10_000
/** Ages are counted in steps of 0.05 ms. */
const STEPS = 20

const [name = '', address = ''] = process.argv.slice(2)
const engineOf = engines[name]
if (engineOf === undefined) throw new Error(`there is no engine ${name}`)
const engine = await engineOf()

const ages = new Uint32Array(LONGEST_MS * STEPS)
let received = 0
let cpu = process.cpuUsage()
const onRow = ({ sent }: { readonly sent: number }): void => {
  received++
  const ms = performance.timeOrigin + performance.now() - sent
  const age = Math.min(ages.length - 1, Math.max(0, Math.floor(ms * STEPS)))
  ages[age] = (ages[age] ?? 0) + 1
}

async function follow({ source, follow: followBare }: Engine, contestant: 'listwatch' | 'bare'): Promise<void> {
  if (contestant === 'bare') return await followBare?.(address, onRow)
  const rows = createInformer({
    source: await source(address),
    indexes: (ix) => ({
      tenant: ix.equal((row) => row.tenant),
      shelf: ix.equal((row) => row.shelf),
      quantity: ix.ordered((row) => row.quantity),
    }),
  })
  rows.subscribe({ update: ({ object }) => onRow(object) })
  await rows.start().synced()
  rows.by.quantity({ limit: 1 }) // An ordered index begins with its first query.
}

/** Writes each row once. */
async function load(): Promise<void> {
  const run = await engine.connectWriter(address)
  for (let at = 0; at < ROWS; at += CHUNK) await run(at, CHUNK, 1)
}

const lanes: Promise<Write>[] = []
/** The row that is written next. */
let next = 0

/** Writes `perSecond` rows a second, whether or not earlier ones were received. A slow server makes the rate lower. */
async function write({ perSecond, seconds, together }: Question & { ask: 'write' }): Promise<Written> {
  while (lanes.length < engine.lanes) lanes.push(engine.connectWriter(address))
  const writers = await Promise.all(lanes)
  next -= next % together
  const began = performance.now()
  let rows = 0
  const elapsed = (): number => (performance.now() - began) / 1_000
  await Promise.all(
    writers.map(async (run) => {
      while (elapsed() < seconds) {
        const due = Math.min(elapsed() * perSecond - rows, CHUNK, ROWS - next)
        const count = Math.floor(due / together) * together
        if (count <= 0) {
          await sleep(1)
          continue
        }
        const first = next
        next = (next + count) % ROWS
        rows += count
        await run(first, count, together)
        await new Promise(setImmediate)
      }
    }),
  )
  return { rows, seconds: Math.max(seconds, elapsed()) }
}

function medianStep(): number {
  let step = 0
  for (let count = ages[0] ?? 0; 2 * count < received; count += ages[step] ?? 0) step++
  return step
}

async function answer(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'follow':
      return await follow(engine, question.contestant)
    case 'write':
      return await write(question)
    case 'load':
      return await load()
    case 'reset':
      received = 0
      cpu = process.cpuUsage()
      return void ages.fill(0)
    case 'received': {
      const { user, system } = process.cpuUsage(cpu)
      const inTime = ages.subarray(0, question.withinMs * STEPS).reduce((sum, count) => sum + count, 0)
      return { rows: received, inTime, medianMs: medianStep() / STEPS, cpuMicros: user + system } satisfies Received
    }
  }
}

process.on('message', (question: Question) => {
  answer(question).then(
    (given) => process.send?.(given ?? {}),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit())
