import { describeListerWatcher } from '../../testing/index.js'
import { drivers, sqliteHarness } from './sqlite-harness.js'

// Every pair of a driver, a journal mode and a form of the table.
for (const [at, [driver, open]] of Object.entries(drivers).entries()) {
  for (const journalMode of ['wal', 'delete'] as const) {
    const suffix = (journalMode === 'wal') === (at === 0) ? '' : 'WITHOUT ROWID'
    const title = `a SQLite table ${suffix} by ${driver}, journal mode ${journalMode}`
    await describeListerWatcher(title, sqliteHarness(open, journalMode, suffix))
  }
}
