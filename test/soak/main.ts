// The long form: npm run soak. With a number, so many times less: npm run soak -- 100.
import { runSoak } from './soak.js'

const part = Number(process.argv[2] ?? 1)
if (!(part >= 1)) {
  process.stderr.write(`soak: the argument must be a number of at least 1, got ${process.argv[2]}\n`)
  process.exit(2)
}
const isTerminal = process.stderr.isTTY
const { figures, left } = await runSoak(
  {
    events: 50_000_000 / part,
    reconnects: 10_000 / part,
    relists: 10_000 / part,
    joins: 1_000 / part,
    behindStuck: 10_000_000 / part,
  },
  (text) => process.stderr.write(isTerminal ? `\r\x1b[K${text}` : `${text}\n`),
)
if (isTerminal) process.stderr.write('\r\x1b[K')
for (const { what, count, bytesPerUnit, grownBytes, limit, holds } of figures) {
  const line = [
    `${count.toLocaleString('en')} × ${what}`.padEnd(45),
    `${bytesPerUnit.toFixed(3)} bytes each`.padEnd(22),
  ]
  process.stdout.write(
    `${line.join('')}${(grownBytes / 1e6).toFixed(2)} MB in all, limit ${limit}: ${holds ? 'holds' : 'BROKEN'}\n`,
  )
}
process.stdout.write(`left after stop: ${left.length === 0 ? 'nothing' : left.join(', ')}\n`)
process.exitCode = figures.every(({ holds }) => holds) && left.length === 0 ? 0 : 1
