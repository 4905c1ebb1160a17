// Records the demo on a terminal, and draws it as an animated SVG: npm run picture:demo
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import './typescript.mjs'

const { Typing } = await import('../test/cli/typing.ts')

const FILE = 'docs/images/demo.svg'
const [COLUMNS, ROWS] = [80, 22]
/** The size of a character and the margin, in pixels. */
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 16]
/** In milliseconds: a longer pause is shortened, a shorter picture is left out, the last picture stays. */
const [LONGEST, SHORTEST, LAST] = [900, 60, 4_500]
const COLOURS = { 31: '#ff7b72', 32: '#56d364', 33: '#e3b341' }

/** A control sequence, a character, or the first part of a control sequence at the end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal receives such characters.
const TOKEN = /\x1b\[([?\d;]*)([A-Za-z])|[^\x1b]|\x1b.*$/gsu

class Recording extends Typing {
  /** What was printed, and when. */
  chunks = []
  /** The pressed keys, and when. */
  keys = []
  #length = 0

  look() {
    if (this.output.length > this.#length) {
      this.chunks.push({ at: performance.now(), text: this.output.slice(this.#length) })
      this.#length = this.output.length
    }
    super.look()
  }

  press(key) {
    this.keys.push({ at: performance.now(), key })
    this.type(key)
  }
}

/** A screen of lines of cells. It knows what cli/output/terminal-ui.ts and picocolors print. */
class Screen {
  #lines = [[]]
  #row = 0
  #column = 0
  #style = {}
  #rest = ''

  /** Returns whether the screen is complete: not within a synchronized update. */
  write(text) {
    let isComplete = true
    for (const [token, codes, command] of (this.#rest + text).matchAll(TOKEN)) {
      this.#rest = token.length > 1 && command === undefined ? token : ''
      if (command !== undefined) {
        if (codes === '?2026') isComplete = command === 'l'
        this.#obey(codes, command)
      } else if (token === '\r') this.#column = 0
      else if (token === '\n') this.#lines[++this.#row] ??= []
      else if (this.#rest === '') this.#lines[this.#row][this.#column++] = { character: token, ...this.#style }
    }
    return isComplete
  }

  /** The lines as SVG, without their position. Line 0 is the first one that fits. */
  get rows() {
    const lines = this.#lines.slice(-ROWS)
    return Array.from({ length: ROWS }, (_, at) => runsOf(lines[at] ?? []))
  }

  #obey(codes, command) {
    if (command === 'A') this.#row -= Number(codes)
    else if (command === 'K') this.#lines[this.#row] = []
    else if (command === 'J') this.#lines.splice(this.#row, ROWS, this.#lines[this.#row].slice(0, this.#column))
    else if (command === 'm') for (const code of codes.split(';')) this.#color(Number(code))
  }

  #color(code) {
    const { weight, colour } = code === 0 ? {} : this.#style
    if (code === 1 || code === 2) this.#style = { weight: code, colour }
    else if (code === 22) this.#style = { colour }
    else this.#style = { weight, colour: code in COLOURS ? code : undefined }
  }
}

/** One `<text>` for each run of cells with the same style. Its length is fixed, whatever the font of the reader. */
function runsOf(cells) {
  const runs = []
  for (const [at, { character, ...style }] of Array.from(cells, (cell) => cell ?? { character: ' ' }).entries()) {
    const last = runs.at(-1)
    if (last !== undefined && JSON.stringify(last.style) === JSON.stringify(style)) last.text += character
    else runs.push({ at, text: character, style })
  }
  return runs
    .filter(({ text }) => text.trim() !== '')
    .map(textOf)
    .join('')
}

function textOf({ at, text, style }) {
  const shown = text.trim()
  const x = MARGIN + (at + text.length - text.trimStart().length) * WIDTH
  const classes = [style.weight, style.colour].filter(Boolean).map((code) => `c${code}`)
  const look = classes.length === 0 ? '' : ` class="${classes.join(' ')}"`
  const escaped = shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${round(x)}" textLength="${round([...shown].length * WIDTH)}"${look}>${escaped}</text>`
}

function round(value) {
  return Math.round(value * 10) / 10
}

/** Returns the pictures, each with its time from the start in milliseconds, and a function that converts times. */
function filmOf(chunks) {
  const screen = new Screen()
  const film = []
  let [shown, last] = [0, chunks[0].at]
  const times = []
  for (const { at, text } of chunks) {
    shown += Math.min(at - last, LONGEST)
    last = at
    times.push({ at, shown })
    if (!screen.write(text)) continue
    const { rows } = screen
    if (film.length > 0 && shown - film.at(-1).at < SHORTEST) film.at(-1).rows = rows
    else film.push({ at: shown, rows })
  }
  return { film, timeOf: (at) => times.findLast((time) => time.at <= at)?.shown ?? 0 }
}

/** The SVG. Each line is in the file once for each time that it appears, and shown from then until it changes. */
function svgOf(film, keys) {
  const total = film.at(-1).at + LAST
  const spans = new Map()
  const show = (from, to, content) => spans.set(`${from} ${to}`, (spans.get(`${from} ${to}`) ?? '') + content)
  for (let row = 0; row < ROWS; row++) {
    let since = 0
    for (let at = 1; at <= film.length; at++) {
      const line = film[since].rows[row]
      if (film[at]?.rows[row] === line) continue
      const y = MARGIN + (row + 0.75) * HEIGHT
      if (line !== '') show(film[since].at, film[at]?.at ?? total, `<g transform="translate(0 ${y})">${line}</g>`)
      since = at
    }
  }
  const [width, height] = [COLUMNS * WIDTH + 2 * MARGIN, ROWS * HEIGHT + 2 * MARGIN]
  for (const { at, key } of keys) {
    const cap = `<rect x="-24" y="-22" width="48" height="40" rx="6" fill="#e3b341"/><text y="6" class="k">${key}</text>`
    show(at, Math.min(at + 1_200, total), `<g transform="translate(${width - 56} ${height - 46})">${cap}</g>`)
  }
  const percent = (time) => `${Math.round((time / total) * 1e4) / 100}%`
  const [rules, groups] = [[], []]
  for (const [span, content] of spans) {
    const [from, to] = span.split(' ').map(Number)
    const name = `s${groups.length}`
    const start = from === 0 ? '' : '0%{visibility:hidden}'
    const end = to === total ? '' : `${percent(to)}{visibility:hidden}`
    rules.push(`@keyframes ${name}{${start}${percent(from)}{visibility:visible}${end}}`)
    groups.push(`<g class="f${to === total ? ' z' : ''}" style="animation-name:${name}">${content}</g>`)
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="listwatch demo: a mirror follows a table, its connection is killed, it resumes, and it equals the table">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;fill:#e6edf3;white-space:pre}
${Object.entries(COLOURS)
  .map(([code, fill]) => `.c${code}{fill:${fill}}`)
  .join('')}
.c1{font-weight:700}.c2{fill:#9198a1}.k{font-size:20px;font-weight:700;fill:#0d1117;text-anchor:middle}
.f{visibility:hidden}.z{visibility:visible}
@media(prefers-reduced-motion:no-preference){.f{animation:${round(total / 1_000)}s step-end infinite}}
${rules.join('\n')}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="#0d1117" stroke="#6e7681"/>
${groups.join('\n')}
</svg>
`
}

const shell = `stty rows ${ROWS} cols ${COLUMNS} -echo; printf '$ npx listwatch demo\r\n'; node dist/cli/bin.cjs demo; printf '$ '`
const recording = new Recording(shell, {
  cwd: process.cwd(),
  env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, TERM: 'xterm' },
})
await recording.until(() => recording.output.includes('live'), 'the mirror', 60_000)
await sleep(4_500)
recording.press('k')
await recording.until(() => / → .*live.* after /.test(recording.output), 'the mirror to resume')
await sleep(4_000)
recording.press('q')
await recording.ended
const { film, timeOf } = filmOf(recording.chunks)
const svg = svgOf(
  film,
  recording.keys.map(({ at, key }) => ({ at: timeOf(at), key })),
)
writeFileSync(FILE, svg)
process.stdout.write(`${FILE}: ${film.length} pictures, ${round(svg.length / 1_000)} kB\n`)
