import type { MirrorState, Status } from '../../src/contract/status.js'
import { colors } from '../bundled.js'
import type { RateMeter } from './rate-meter.js'
import { widthOf } from './text-width.js'

/** The first lines of a live view. `size`: the noun of the objects and their number. */
export function statusLines(name: string, status: Status, size: readonly [string, number], meter: RateMeter): string[] {
  return [
    ...stateLines(name, status),
    ...wrapParts([
      ...sizeParts(size, meter),
      labelled('relists', String(status.relists)),
      labelled('reconnects', String(status.reconnects)),
    ]),
  ]
}

export function stateLines(name: string, status: Status): string[] {
  return wrapParts([
    `${colors.bold('listwatch')} ${withoutControls(name)}`,
    coloured(status.state),
    colors.dim(withoutControls(status.reason)),
  ])
}

export function sizeParts([noun, count]: readonly [string, number], meter: RateMeter): string[] {
  return [
    labelled(noun, thousands(count)),
    labelled('changes/s', thousands(meter.rate)),
    ...(meter.lag(0.5) === undefined ? [] : [labelled('lag', lagOf(meter))]),
  ]
}

export function labelled(label: string, value: string): string {
  return `${colors.dim(withoutControls(label))} ${colors.bold(withoutControls(value))}`
}

/** Wraps the parts into as few lines as the width of the terminal allows. A part is never split. */
export function wrapParts(
  parts: readonly string[],
  width: number = process.stdout.columns || 80,
  gap = '   ',
): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)}${gap}${part}`
    if (lines.length > 0 && widthOf(longer) > width) lines.push(part)
    else lines.splice(-1, 1, longer)
  }
  return lines
}

/** Replaces control characters in foreign text, because a terminal would obey them. */
export function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, '�')
}

export function lagOf(meter: RateMeter): string {
  const [half, most] = [meter.lag(0.5), meter.lag(0.99)]
  return half === undefined || most === undefined ? '–' : `p50 ${half} ms, p99 ${most} ms`
}

export function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}

export function counted(count: number, noun: string): string {
  return `${thousands(count)} ${noun}${count === 1 ? '' : 's'}`
}

const { green, red, yellow } = colors
/** Other states are dim. */
const COLORS: Readonly<Partial<Record<MirrorState, typeof green>>> = {
  live: green,
  failed: red,
  'backing-off': yellow,
  connecting: yellow,
  relisting: yellow,
  stale: yellow,
}

export function coloured(state: MirrorState): string {
  return (COLORS[state] ?? colors.dim)(state)
}
