import colors from 'picocolors'
import type { State, Status } from '../telemetry.js'
import type { Meter } from './meter.js'

/** The lines that every live picture has. */
export function statusLines(name: string, status: Status, rows: number, meter: Meter): string[] {
  return [
    `${colors.bold('listwatch')} ${name}   ${coloured(status.state)} ${colors.dim(status.reason)}`,
    columns([
      ['rows', thousands(rows)],
      ['changes/s', thousands(meter.rate)],
      ['lag', lagOf(meter)],
      ['relists', String(status.relists)],
      ['reconnects', String(status.reconnects)],
    ]),
  ]
}

export function columns(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([label, value]) => `${colors.dim(label)} ${colors.bold(value)}`).join('   ')
}

export function lagOf(meter: Meter): string {
  const [half, most] = [meter.lag(0.5), meter.lag(0.99)]
  return half === undefined || most === undefined ? '–' : `p50 ${half} ms, p99 ${most} ms`
}

export function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}

export function coloured(state: State): string {
  switch (state) {
    case 'live':
      return colors.green(state)
    case 'failed':
      return colors.red(state)
    case 'backing-off':
    case 'connecting':
    case 'relisting':
      return colors.yellow(state)
    case 'idle':
    case 'listing':
    case 'stopped':
      return colors.dim(state)
  }
}
