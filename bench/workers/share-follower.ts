// A worker thread of share.ts.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'
import { sharedSource } from 'listwatch/share'

/** A row of about 300 bytes of JSON. */
export interface Row {
  readonly name: string
  readonly tenant: string
  readonly status: string
  readonly created: number
  /** When it was committed, in milliseconds. */
  readonly at: number
  readonly note: string
}

/** What a worker sends when it has its first list, and when it is asked. */
export interface Answer {
  readonly joinMs: number
  readonly latencies: readonly number[]
}

const NOTE = 'x'.repeat(180)

export function row(i: number, at: number): Row {
  return { name: `object-${i}`, tenant: `tenant-${i % 1_000}`, status: `s${i % 7}`, created: i, at, note: NOTE + i }
}

/** Rows as a driver returns them: no row shares memory with another. */
export function entriesOf(count: number): [string, Row][] {
  return Array.from({ length: count }, (_, i) => [`${i}`, JSON.parse(JSON.stringify(row(i, 0))) as Row])
}

/** The free memory of the young generation is released too, as V8 does in an idle process. */
export function collectGarbage(): void {
  void globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' } as never)
}

if (parentPort !== null) {
  const { rows } = workerData
  const send = (joinMs: number, latencies: readonly number[]): void =>
    parentPort?.postMessage({ joinMs, latencies } satisfies Answer)
  if (rows === 'none') wait(parentPort, send)
  else await follow(parentPort, send)
}

/** Without an informer: receives the messages themselves, each the time at which it was sent. */
function wait(main: MessagePort, send: (joinMs: number, latencies: readonly number[]) => void): void {
  let latencies: number[] = []
  main.on('message', (question) => {
    if (typeof question === 'number') {
      latencies.push(performance.timeOrigin + performance.now() - question)
      return
    }
    if (question === 'gc') collectGarbage()
    send(0, latencies)
    latencies = []
  })
  send(0, latencies)
}

async function follow(main: MessagePort, send: (joinMs: number, latencies: readonly number[]) => void): Promise<void> {
  const { port, rows } = workerData
  const source = port === undefined ? memorySource({ entries: entriesOf(rows) }) : sharedSource<Row>({ port })
  const began = performance.now()
  const informer = createInformer({ source })
  let latencies: number[] = []
  await informer.start().synced()
  const joinMs = performance.now() - began
  const subscribe = async (): Promise<void> => {
    const subscription = informer.subscribe({
      update: ({ object }) => {
        latencies.push(performance.timeOrigin + performance.now() - object.at)
      },
    })
    await subscription.synced()
  }
  const perform = async (question: unknown): Promise<void> => {
    if (question === 'gc') collectGarbage()
    if (question === 'subscribe') await subscribe()
    send(joinMs, latencies)
    latencies = []
  }
  main.on('message', (question) => void perform(question))
  send(joinMs, latencies)
}
