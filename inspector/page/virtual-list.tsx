import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

interface VirtualListProps {
  readonly count: number
  /** The item that must be visible. */
  readonly selected: number
  readonly label: string
  /** The least width of the rows. */
  readonly width: string
  /** Stays visible above the rows. It is as high as a row. */
  readonly head: ComponentChildren
  /** Called with the visible items. */
  onRange(first: number, last: number): void
  row(at: number): ComponentChildren
}

const ROW_PX = 30
/** Browsers limit the height of an element. A longer list is scrolled in proportion. */
const MAX_PX = 8_000_000
const MARGIN = 10

/** A table that renders only its visible rows. */
export function VirtualList({ count, selected, label, width, head, onRange, row }: VirtualListProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [{ top, height }, setView] = useState({ top: 0, height: 600 })
  const total = Math.min(count * ROW_PX, MAX_PX)
  const scale = total === 0 ? 1 : (count * ROW_PX) / total
  const first = Math.max(0, Math.floor((top * scale) / ROW_PX) - MARGIN)
  const last = Math.min(count, Math.ceil((top * scale + height) / ROW_PX) + MARGIN)
  const measure = (): void => {
    const { scrollTop = 0, clientHeight = 600 } = box.current ?? {}
    setView({ top: scrollTop, height: clientHeight })
  }
  useEffect(() => {
    measure()
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  useEffect(() => onRange(first, last), [first, last])
  useEffect(() => {
    const element = box.current
    if (element === null || selected < 0) return
    const at = (selected * ROW_PX) / scale
    const visible = element.clientHeight - ROW_PX
    if (at < element.scrollTop) element.scrollTop = at
    else if (at + ROW_PX > element.scrollTop + visible) element.scrollTop = at + ROW_PX - visible
  }, [selected, scale])
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, nth) => first + nth)
  // The rows stand relative to the scroll position, because a long list is scaled.
  const offset = Math.max(0, first * ROW_PX - top * scale + top)
  return (
    <div class="list" ref={box} onScroll={measure}>
      <table aria-label={label} aria-rowcount={count + 1} style={{ height: `${total + ROW_PX}px`, minWidth: width }}>
        <thead>{head}</thead>
        <tbody style={{ transform: `translateY(${offset}px)` }}>{rows.map(row)}</tbody>
      </table>
    </div>
  )
}
