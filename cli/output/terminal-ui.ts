import { emitKeypressEvents } from 'node:readline'
import { systemClock } from '../../src/contract/clock.js'
import { fitted, widthOf } from './text-width.js'

const FRAME_MS = 250
/** Without a terminal, one line is printed at this interval in milliseconds, and one at the end. */
const LINE_MS = 2_000

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** The output of a running command: a live view on a terminal, otherwise regular lines. */
export interface View {
  frame(): readonly string[]
  line(): string
  /** The log lines since the last call. On a terminal they are printed above the live view, and scroll away. */
  log?(): readonly string[]
}

/** Shows `view` until `signal` aborts. On a terminal a pressed key calls its function in `keys`. */
export async function showView(view: View, keys: ReadonlyMap<string, () => void>, signal: AbortSignal): Promise<void> {
  const { stdout } = process
  if (!stdout.isTTY) {
    do {
      await sleepUnlessAborted(LINE_MS, signal)
      for (const line of [...(view.log?.() ?? []), view.line()]) stdout.write(`${line}\n`)
    } while (!signal.aborted)
    return
  }
  using _pressed = listenToKeys(keys)
  const restore = (): void => void stdout.write(SHOW_CURSOR)
  stdout.write(HIDE_CURSOR)
  process.once('exit', restore)
  let last: readonly string[] = []
  const draw = (): void => {
    const [columns, rows] = [stdout.columns || 80, stdout.rows || 24]
    // In a short window, half of the rows are left for the log.
    const most = view.log === undefined ? rows - 1 : Math.min(rows - 1, Math.max(1, Math.floor(rows / 2)))
    const fit = (line: string): string => fitted(line, columns)
    const lines = view.frame().slice(0, most).map(fit)
    stdout.write(drawing((view.log?.() ?? []).map(fit), lines, Math.min(heightOf(last, columns), rows - 1)))
    last = lines
  }
  try {
    do draw()
    while (await sleepUnlessAborted(FRAME_MS, signal))
    draw()
  } finally {
    process.off('exit', restore)
    restore()
  }
}

/** On a terminal a pressed key calls its function in `keys`, until the result is disposed. */
export function listenToKeys(keys: ReadonlyMap<string, () => void>): Disposable {
  const { stdin } = process
  if (!stdin.isTTY) return { [Symbol.dispose]: () => {} }
  const press = (_text: string | undefined, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
    // Like in cooked mode: the first Ctrl-C ends the command, a second one the process.
    if (key.ctrl === true && key.name === 'c') process.kill(process.pid, 'SIGINT')
    else if (key.ctrl !== true) keys.get(key.name ?? '')?.()
  }
  const restore = (): void => void stdin.setRawMode(false)
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  stdin.on('keypress', press)
  stdin.resume()
  process.once('exit', restore)
  return {
    [Symbol.dispose]() {
      process.off('exit', restore)
      restore()
      stdin.off('keypress', press)
      stdin.pause()
    },
  }
}

/** The number of rows that these lines take now: a terminal that became narrower wraps the longer ones. */
function heightOf(lines: readonly string[], columns: number): number {
  return lines.reduce((height, line) => height + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
}

/**
 * Draws the log and the live view over the last view, and leaves the cursor below. One write within a synchronized
 * update avoids flicker. Automatic margins are off, so that no line wraps.
 */
function drawing(log: readonly string[], lines: readonly string[], lastHeight: number): string {
  const up = lastHeight === 0 ? '' : `\x1b[${lastHeight}A`
  const drawn = [...log, ...lines].map((line) => `\r\x1b[2K${line}\r\n`).join('')
  return `\x1b[?2026h\x1b[?7l${up}${drawn}\x1b[J\x1b[?7h\x1b[?2026l`
}

/** Sleeps. Returns false if `signal` aborted. */
export async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<boolean> {
  await systemClock.sleep(ms, signal).catch(() => {})
  return !signal.aborted
}
