import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ObjectRow } from '../informer-page.js'
import type { ObjectField } from '../object-fields.js'
import type { JsonValue } from '../object-json.js'
import type { Rows } from './use-rows.js'

interface ObjectTableProps {
  readonly rows: Rows
  readonly columns: readonly ObjectField[]
  readonly sort: string
  readonly selected: number
  readonly shown: string | undefined
  onSort(sort: string): void
  onRow(at: number): void
}

const NARROWEST = 6
const WIDEST = 40

export function ObjectTable({ rows, columns, sort, selected, shown, onSort, onRow }: ObjectTableProps): JSX.Element {
  const before = useRef<ReadonlyMap<string, ObjectRow>>(new Map())
  const loaded = [...rows.rows.values()]
  useLayoutEffect(() => {
    before.current = new Map(loaded.map((row) => [row.key, row]))
  }, [rows.rows])
  const fields = [{ path: '', type: 'text' } as const, ...columns]
  const texts = fields.map((_, nth) => loaded.map((row) => textOf(nth === 0 ? row.key : row.cells?.[nth - 1])))
  const widths = useWidths(fields, texts, rows.selection)
  const style = { gridTemplateColumns: widths.map((width) => `minmax(0, ${width}fr)`).join(' ') }
  const decimals = texts.map((column, nth) =>
    fields[nth]?.type === 'number' ? Math.max(0, ...column.map(decimalsOf)) : 0,
  )
  const [path, isDescending] = [sort.replace(/^-/, ''), sort.startsWith('-')]
  const next = (of: string): string => (of !== path ? of : isDescending ? '' : `-${of}`)
  return (
    <VirtualList
      count={rows.total}
      selected={selected}
      label="objects"
      width={`${widths.reduce((sum, width) => sum + width, 0)}ch`}
      onRange={rows.load}
      head={
        <tr class="row head" style={style}>
          {fields.map((field) => (
            <th
              class={field.type}
              key={field.path}
              aria-sort={field.path !== path ? 'none' : isDescending ? 'descending' : 'ascending'}
            >
              <button type="button" title={`sort by ${field.path || 'key'}`} onClick={() => onSort(next(field.path))}>
                {field.path || 'key'}
              </button>
            </th>
          ))}
        </tr>
      }
      row={(nth) => {
        const row = rows.rows.get(nth)
        const earlier = row && before.current.get(row.key)
        return (
          <tr
            aria-rowindex={nth + 2}
            class={row !== undefined && row.key === shown ? 'row selected' : 'row'}
            style={style}
            key={nth}
            onClick={() => onRow(nth)}
          >
            {fields.map(({ path: of, type }, at) => {
              const value = at === 0 ? row?.key : row?.cells?.[at - 1]
              const isChanged = at > 0 && earlier?.cells !== undefined && earlier.cells[at - 1] !== value
              const text = textOf(value)
              return (
                <td class={`${type} ${at === 0 ? 'key' : ''} ${isChanged ? 'changed' : ''}`} title={text} key={of}>
                  {row === undefined ? '…' : type === 'number' ? aligned(text, decimals[at] ?? 0) : text}
                </td>
              )
            })}
          </tr>
        )
      }}
    />
  )
}

function textOf(value: JsonValue | undefined): string {
  return value === null || value === undefined ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Columns become wider with the rows that are loaded, but not narrower: they do not jump while the user scrolls. */
function useWidths(
  fields: readonly { readonly path: string }[],
  texts: readonly (readonly string[])[],
  selection: unknown,
): number[] {
  const known = useMemo(() => new Map<string, number>(), [selection])
  return fields.map(({ path }, nth) => {
    // A few longer values do not determine the width.
    const lengths = (texts[nth] ?? []).map((text) => text.length + (path === '' ? 4 : 3)).sort((a, b) => a - b)
    const usual = lengths[Math.floor(lengths.length * 0.95)] ?? 0
    const longest = Math.max(NARROWEST, (path || 'key').length + 4, usual)
    const width = Math.min(WIDEST, Math.max(longest, known.get(path) ?? 0))
    known.set(path, width)
    return width
  })
}

function decimalsOf(text: string): number {
  return /^-?\d+\.(\d+)$/.exec(text)?.[1]?.length ?? 0
}

/** Fills a number with spaces as wide as digits, so that the points of a column are below each other. */
function aligned(text: string, decimals: number): string {
  const own = decimalsOf(text)
  if (decimals === 0 || own === decimals) return text
  return `${text}${own === 0 ? '\u2008' : ''}${'\u2007'.repeat(decimals - own)}`
}

interface VirtualListProps {
  readonly count: number
  /** The item that must be visible. */
  readonly selected: number
  readonly label: string
  readonly width: string
  /** Stays visible above the rows. It is as high as a row. */
  readonly head: ComponentChildren
  onRange(first: number, last: number): void
  row(at: number): ComponentChildren
}

const ROW_PX = 30
/** Browsers limit the height of an element. A longer list is scrolled in proportion. */
const MAX_PX = 8_000_000
const MARGIN = 10

function VirtualList({ count, selected, label, width, head, onRange, row }: VirtualListProps): JSX.Element {
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
