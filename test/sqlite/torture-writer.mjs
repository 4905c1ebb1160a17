import { DatabaseSync } from 'node:sqlite'

const [, , path, seed] = process.argv
let state = Number(seed)
const draw = (most) => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return 1 + Math.floor((state / 2_147_483_648) * most)
}
const db = new DatabaseSync(path)
db.exec('PRAGMA busy_timeout = 30000; PRAGMA synchronous = NORMAL')
const put = db.prepare('REPLACE INTO items VALUES (?, ?, ?)')
const upsert = db.prepare(
  'INSERT INTO items VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET v = excluded.v ON CONFLICT (code) DO NOTHING',
)
const move = db.prepare('UPDATE OR REPLACE items SET id = ? WHERE id = ?')
const part = db.prepare('REPLACE INTO parts VALUES (?, (SELECT id FROM items ORDER BY id LIMIT 1 OFFSET ?))')
for (;;) {
  db.exec('BEGIN IMMEDIATE')
  for (let i = draw(4); i > 0; i--) {
    ;(draw(2) === 1 ? put : upsert).run(draw(60), `code ${draw(60)}`, draw(1_000))
    move.run(draw(60), draw(60))
    part.run(draw(99), draw(30))
  }
  db.exec(draw(4) === 1 ? 'ROLLBACK' : 'COMMIT')
}
