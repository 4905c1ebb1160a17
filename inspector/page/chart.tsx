import type { JSX } from 'preact'
import type { Sample } from '../informer-page.js'
import { clockTime } from './formats.js'

export const NO_LAG = 'The source sends no commit times, or no change has arrived yet.'

interface LineProps {
  readonly values: readonly (number | null)[]
  readonly width: number
}

export function ratesOf(samples: readonly Sample[]): readonly number[] {
  return samples.slice(1).map(({ at, changes }, nth) => {
    const { at: since = at, changes: before = changes } = samples[nth] ?? {}
    return ((changes - before) * 1_000) / Math.max(1, at - since)
  })
}

export function lagsOf(samples: readonly Sample[]): readonly (number | null)[] {
  return samples.slice(1).map(({ lagMs }) => lagMs)
}

/** A line of values, the last one at the right edge. */
export function Line({ values, width }: LineProps): JSX.Element {
  const greatest = Math.max(1, ...values.map((value) => value ?? 0))
  const shown = values.slice(-width)
  const start = width - shown.length
  let path = ''
  for (const [nth, value] of shown.entries()) {
    const isStart = nth === 0 || shown[nth - 1] === null
    if (value !== null) path += `${isStart ? 'M' : 'L'}${start + nth} ${(98 - (value / greatest) * 94).toFixed(1)}`
  }
  return (
    <svg class="line" viewBox={`0 0 ${width - 1} 100`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}

interface ChartProps {
  readonly title: string
  readonly unit: string
  readonly samples: readonly Sample[]
  readonly values: readonly (number | null)[]
  readonly absence?: string
}

export function Chart({ title, unit, samples, values, absence = '' }: ChartProps): JSX.Element {
  const last = samples.at(-1)
  const known = values.filter((value) => value !== null)
  const text = (value: number | undefined): string =>
    value === undefined ? '–' : `${Math.round(value).toLocaleString('en')} ${unit}`
  return (
    <figure>
      <figcaption>
        {title} <b>{text(known.at(-1))}</b>
        <span class="muted">{known.length === 0 ? absence : `at most ${text(Math.max(...known))}`}</span>
      </figcaption>
      <Line values={values} width={300} />
      <div class="axis muted">
        <span>5 min ago</span>
        <span>{last === undefined ? '' : `${clockTime(last.at).slice(0, 8)}Z`}</span>
      </div>
    </figure>
  )
}
