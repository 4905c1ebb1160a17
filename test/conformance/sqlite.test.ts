import { describeListerWatcher } from '../../testing/index.js'
import { sqliteHarness } from './sqlite-harness.js'

for (const journalMode of ['wal', 'delete'] as const) {
  for (const suffix of ['', 'WITHOUT ROWID'])
    await describeListerWatcher(
      `a SQLite table ${suffix}, journal mode ${journalMode}`,
      sqliteHarness(journalMode, suffix),
    )
}
