import type { ListerWatcher } from '../../src/contract/source.js'
import type { Row } from '../sources/source-types.js'
import type { Order } from './demo-writer.js'

/** The database of the demo, with a table `orders`, a writer of it, and a fault. */
export interface DemoEngine {
  readonly source: ListerWatcher<Order>
  /** What `kill` ends. It is there again after a moment. */
  readonly victim: 'connection' | 'writer'
  readonly transactions: number
  open(): Promise<void>
  startWriter(): void
  /** Rejects with the error of the writer. */
  stopWriter(): Promise<void>
  /** Ends the connection of the mirror, or the process of the writer. A new writer is there when it resolves. */
  kill(): Promise<void>
  rows(): Promise<readonly Row[]>
  close(): Promise<void>
}
