import { describeListerWatcher } from '../../testing/index.js'
import { drivers, sqliteHarness } from './sqlite-harness.js'

for (const [driver, open] of Object.entries(drivers)) {
  for (const journalMode of ['wal', 'delete'] as const) {
    for (const suffix of ['', 'WITHOUT ROWID']) {
      const title = `a SQLite table ${suffix} by ${driver}, journal mode ${journalMode}`
      await describeListerWatcher(title, sqliteHarness(open, journalMode, suffix))
    }
  }
}
