// The long form: npm run soak. With a number, so many times fewer events: npm run soak -- 50. What is cheap, and needs its
// number to stand out of the noise, is as much in either.
import { setFlagsFromString } from 'node:v8'
import type { SoakFigure } from './growth.js'
import { watchSignals } from './left.js'
import { runSoak } from './soak.js'

const part = Number(process.argv[2] ?? 1)
if (!(part >= 1)) {
  process.stderr.write(`soak: the argument must be a number of at least 1, got ${process.argv[2]}\n`)
  process.exit(2)
}
// Compiled code lies in the heap too, and V8 compiles and discards code for minutes: up to 150 kB at any time. If V8 only
// interprets, a measurement repeats to a few bytes.
for (const flag of ['--no-sparkplug', '--no-maglev', '--no-opt', '--no-flush-bytecode']) setFlagsFromString(flag)
const isTerminal = process.stderr.isTTY
watchSignals()
const { figures, left } = await runSoak(
  {
    events: 50_000_000 / part,
    reconnects: 20_000,
    relists: 10_000,
    joins: 1_000,
    onSystemClock: 100,
    behindStuck: 10_000_000 / part,
  },
  (text) => isTerminal && process.stderr.write(`\r\x1b[K${text}`),
)
if (isTerminal) process.stderr.write('\r\x1b[K')
for (const figure of figures) process.stdout.write(`${lineOf(figure)}\n`)
process.stdout.write(`left: ${left.length === 0 ? 'nothing' : left.join('; ')}\n`)
process.exitCode = figures.every(({ holds }) => holds) && left.length === 0 ? 0 : 1

function lineOf({ what, count, bytes, unit, limit, holds }: SoakFigure): string {
  const measured = unit === 'each' ? `${bytes.toFixed(2)} bytes each` : `${(bytes / 1e6).toFixed(2)} MB in all`
  const allowed = unit === 'each' ? `${limit} bytes` : `${limit / 1e6} MB`
  const counted = `${count.toLocaleString('en')} × ${what}`
  return `${counted.padEnd(78)}${measured.padEnd(20)} limit ${allowed}: ${holds ? 'holds' : 'BROKEN'}`
}
