import { emitKeypressEvents } from 'node:readline'
import type { Clock } from '../../src/contract/clock.js'
import { fitted, widthOf } from './text-width.js'

/** How often the screen is drawn, in milliseconds. */
const FRAME_MS = 250
/** Where there is no screen, one line so often, and one at the end. */
const LINE_MS = 2_000

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** What is shown while something runs: a live picture on a terminal, a line now and then elsewhere. */
export interface View {
  /** Lines; those that are wider than the terminal are cut. */
  frame(): readonly string[]
  line(): string
  /** The lines since the last call that stay: they are printed above the picture, and scroll away. */
  log?(): readonly string[]
}

/** Shows `view` until `signal` aborts. On a terminal `keys` are obeyed; without one nothing is read. */
export async function showView(
  view: View,
  keys: ReadonlyMap<string, () => void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { stdin, stdout } = process
  if (!stdout.isTTY) {
    do {
      await sleepUnlessAborted(LINE_MS, clock, signal)
      stdout.write(`${view.line()}\n`)
    } while (!signal.aborted)
    return
  }
  const press = (_text: string | undefined, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
    // As it is without us: the first one ends what runs, a second one the process.
    if (key.ctrl === true && key.name === 'c') process.kill(process.pid, 'SIGINT')
    else if (key.ctrl !== true) keys.get(key.name ?? '')?.()
  }
  const restore = (): void => {
    stdout.write(SHOW_CURSOR)
    if (stdin.isTTY) stdin.setRawMode(false)
  }
  if (stdin.isTTY) {
    emitKeypressEvents(stdin)
    stdin.setRawMode(true)
    stdin.on('keypress', press)
    stdin.resume()
  }
  stdout.write(HIDE_CURSOR)
  process.once('exit', restore)
  let last: readonly string[] = []
  const draw = (): void => {
    const { columns, rows } = sizeOf(stdout)
    // A log needs room: a short window shows as much of it as of the picture.
    const most = view.log === undefined ? rows - 1 : Math.min(rows - 1, Math.max(1, Math.floor(rows / 2)))
    const fit = (line: string): string => fitted(line, columns)
    const picture = view.frame().slice(0, most).map(fit)
    stdout.write(frame((view.log?.() ?? []).map(fit), picture, Math.min(heightOf(last, columns), rows - 1)))
    last = picture
  }
  try {
    do draw()
    while (await sleepUnlessAborted(FRAME_MS, clock, signal))
    draw()
  } finally {
    process.off('exit', restore)
    restore()
    stdin.off('keypress', press)
    stdin.pause()
  }
}

function sizeOf({ columns, rows }: typeof process.stdout): { readonly columns: number; readonly rows: number } {
  return { columns: columns || 80, rows: rows || 24 }
}

/** How many rows these lines take now: a terminal that became narrower has broken the longer ones. */
function heightOf(lines: readonly string[], columns: number): number {
  return lines.reduce((height, line) => height + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
}

/**
 * Draws the log and the picture over the last picture, and leaves the cursor under them. It is written at once, and between
 * the marks of a synchronized update, so that nothing flickers; without automatic margins, so that a line stays one.
 */
function frame(log: readonly string[], picture: readonly string[], lastHeight: number): string {
  const up = lastHeight === 0 ? '' : `\x1b[${lastHeight}A`
  const drawn = [...log, ...picture].map((line) => `\r\x1b[2K${line}\r\n`).join('')
  return `\x1b[?2026h\x1b[?7l${up}${drawn}\x1b[J\x1b[?7h\x1b[?2026l`
}

/** False where `signal` aborted. */
export async function sleepUnlessAborted(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  await clock.sleep(ms, signal).catch(() => {})
  return !signal.aborted
}
