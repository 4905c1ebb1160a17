import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

interface GraphProps {
  readonly title: string
  readonly unit: string
  /** Seconds since the Unix epoch. */
  readonly times: readonly number[]
  readonly values: readonly (number | null)[]
}

const HEIGHT = 150

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

/** A graph of one value over time. */
export function Graph({ title, unit, times, values }: GraphProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const axis = { stroke: () => colorOf('--muted'), grid: { stroke: () => colorOf('--line') }, ticks: { show: false } }
    const drawn = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        axes: [axis, { ...axis, size: 60 }],
        scales: { y: { range: (_plot, _least, greatest) => [0, Math.max(1, greatest ?? 1) * 1.1] } },
        series: [{}, { label: title, stroke: () => colorOf('--accent'), width: 1.5, points: { show: false } }],
      },
      [[], []],
      element,
    )
    plot.current = drawn
    const resize = (): void => drawn.setSize({ width: element.clientWidth, height: HEIGHT })
    addEventListener('resize', resize)
    return () => {
      removeEventListener('resize', resize)
      drawn.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData([[...times], [...values]]), [times, values])
  const last = values.at(-1)
  return (
    <figure>
      <figcaption>
        {title} <b>{last === null || last === undefined ? '–' : `${Math.round(last).toLocaleString('en')} ${unit}`}</b>
      </figcaption>
      <div ref={box} />
    </figure>
  )
}
