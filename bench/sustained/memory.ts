import { memorySource } from 'listwatch/memory'
import { type Engine, ROWS, type Row, rowAt } from './engine.ts'

const source = memorySource<Row>()

/** The source in the process of the writer. It has no protocol that a bare client could follow. */
export const memory: Engine = {
  together: [1, 100],
  leastPerSecond: 20_000,
  lanes: 1,
  start: async () => ({ address: '', [Symbol.asyncDispose]: async () => {} }),
  async connectWriter() {
    return async (first, count, together) => {
      for (let at = first; at < first + count; at += together)
        source.transaction((tx) => {
          for (let key = at; key < at + together; key++) tx.put(String(key), rowAt(key))
        })
    }
  },
  source() {
    for (let at = 0; at < ROWS; at++) source.put(String(at), rowAt(at))
    return source
  },
}
