// A replica in a process of its own: node replica.ts <its options as JSON>. Messages tell it the objects.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer, type ReconcileContext } from 'listwatch'
import { memorySource } from 'listwatch/memory'
import type { FencedWrite, ReplicaOptions, Told } from './campaign.ts'
import type { Note } from './judge.ts'
import { openLeases } from './leases.ts'

const STEP_MS = 15
const STEPS = 16
const CONCURRENCY = 4
const DRAIN_MS = 2_000
const options: ReplicaOptions = JSON.parse(process.argv[2] ?? '')
const { name, values } = options
const log = openSync(options.log, 'a')
/** By the number of the run that writes. */
const writing = new Map<number, (isAccepted: boolean) => void>()
let runs = 0

/** Microseconds of the clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint() / 1_000n)

/** Written at once: what it did before a kill is known. */
function note(what: Omit<Note, 'replica'>): void {
  writeSync(log, `${JSON.stringify({ ...what, replica: name } satisfies Note)}\n`)
}

function write(wanted: FencedWrite): Promise<boolean> {
  process.send?.(wanted)
  return new Promise((resolve) => writing.set(wanted.run, resolve))
}

/** Every second run does not look at its signal before it writes, as a write that is on its way when a lease ends. */
async function run(key: string, { object, signal, fence }: ReconcileContext<number>): Promise<void> {
  const id = ++runs
  note({ type: 'start', at: now(), run: id, key, fence })
  const isAborted = (): boolean => {
    const at = now() // Before it looks: the process may be stopped in between.
    if (signal.aborted) return true
    note({ type: 'valid', at, run: id })
    return false
  }
  const isCareless = Math.random() < 0.5
  for (let step = 0; step < STEPS; step++) {
    if (isAborted() && !isCareless) break
    await sleep(Math.random() * STEP_MS)
  }
  const wasAborted = isAborted()
  if (!wasAborted || isCareless) {
    const isAccepted = await write({ run: id, key, value: object ?? -1, fence: fence ?? -1 })
    if (!isAccepted && !isAborted()) note({ type: 'refused while valid', at: now(), run: id })
  }
  note({ type: 'end', at: now(), run: id })
  if (signal.aborted) throw signal.reason
}

const source = memorySource<number>({ entries: Object.entries(values) })
const informer = createInformer({ source })
informer.on('error', (error) => {
  if (error.code !== 'HANDLER') console.log(`${name} ${error.code}: ${error.message}`)
})
const leases = await openLeases(options)
informer.reconcile(run, { leases, concurrency: CONCURRENCY, retry: { minMs: 20, maxMs: 200 } })
process.on('message', (told: Told) => {
  if ('values' in told) for (const [key, value] of Object.entries(told.values)) source.put(key, value)
  else writing.get(told.run)?.(told.isAccepted)
})
process.once('SIGTERM', () => {
  void informer.stop({ drainMs: DRAIN_MS }).finally(() => process.exit(0))
})
process.once('disconnect', () => process.exit(1))
await informer.start().synced()
process.send?.('synced')
