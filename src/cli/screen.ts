import { emitKeypressEvents } from 'node:readline'
import type { Clock } from '../clock.js'
import { load } from './failure.js'

/** How often the screen is drawn, in milliseconds. */
const FRAME_MS = 250
/** Where there is no screen, one line so often. */
const LINE_MS = 2_000

/** What is shown while something runs: a live picture on a terminal, a line now and then elsewhere. */
export interface View {
  picture(): string
  line(): string
}

/** Shows `view` until `signal` aborts. On a terminal `keys` are obeyed; without one nothing is read. */
export async function show(
  view: View,
  keys: ReadonlyMap<string, () => void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { stdin, stdout } = process
  if (!stdout.isTTY) {
    while (await slept(LINE_MS, clock, signal)) stdout.write(`${view.line()}\n`)
    return
  }
  const { default: logUpdate } = await load('log-update', () => import('log-update'), 'npm i log-update')
  const press = (_text: string | undefined, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
    const name = key.ctrl === true ? `ctrl-${key.name}` : (key.name ?? '')
    keys.get(name)?.()
  }
  if (stdin.isTTY) {
    emitKeypressEvents(stdin)
    stdin.setRawMode(true)
    stdin.on('keypress', press)
    stdin.resume()
  }
  try {
    do logUpdate(view.picture())
    while (await slept(FRAME_MS, clock, signal))
    logUpdate(view.picture())
  } finally {
    logUpdate.done()
    if (stdin.isTTY) {
      stdin.off('keypress', press)
      stdin.setRawMode(false)
      stdin.pause()
    }
  }
}

/** False where `signal` aborted. */
export async function slept(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  await clock.sleep(ms, signal).catch(() => {})
  return !signal.aborted
}
