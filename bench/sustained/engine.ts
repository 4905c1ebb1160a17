import type { ListerWatcher } from 'listwatch'

/** A row of about 200 bytes. Each write changes its shelf, its quantity and its time. */
export interface Row {
  readonly tenant: string
  readonly shelf: number
  readonly quantity: number
  readonly note: string
  /** When it was written, in milliseconds since 1970. */
  readonly sent: number
}

/** The number of rows. They are written in turn, so that a change merges with the next one of its row only after long. */
export const ROWS = 50_000

/** Writes the rows `first` to `first + count - 1`, in transactions of `together` rows. */
export type Write = (first: number, count: number, together: number) => Promise<void>

/** An engine, its source and a client without the library. Each function but `start` is called in a process of its own. */
export interface Engine {
  /** The rows of one transaction: a measurement for each. */
  readonly together: readonly number[]
  /** A goal for the rate with the largest transactions, in rows a second. */
  readonly leastPerSecond?: number
  /** A goal for the latency of single rows at a low rate, as a multiple of that of the client without the library. */
  readonly mostLatency?: number
  /** The number of writers at once. */
  readonly lanes: number
  /** Starts a server. The rows are written afterwards. */
  start(): Promise<RunningEngine>
  connectWriter(address: string): Promise<Write>
  source(address: string): ListerWatcher<Row> | Promise<ListerWatcher<Row>>
  /** Calls `onRow` for each change from now on; undefined if there is no protocol without the library. */
  readonly follow?: (address: string, onRow: (row: Row) => void) => Promise<void>
}

export interface RunningEngine extends AsyncDisposable {
  readonly address: string
}

export function rowAt(at: number): Row {
  const sent = Date.now()
  return {
    tenant: `tenant-${at % 1_000}`,
    shelf: (at + sent) % 97,
    quantity: (Math.imul(at, 7_919) + sent) % 10_000,
    note: 'x'.repeat(100),
    sent,
  }
}

export function allAt<V>(first: number, count: number, each: (at: number) => V): V[] {
  return Array.from({ length: count }, (_, nth) => each(first + nth))
}
