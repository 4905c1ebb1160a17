import type { JSX } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ObjectPage, ObjectRow } from '../informer-page.js'
import type { Facet } from '../object-query.js'
import { readFacets, readObject, readRows, type Selection } from './api.js'
import { ChangeLine } from './differences.js'
import { count } from './formats.js'
import { VirtualList } from './virtual-list.js'

interface ObjectsViewProps {
  readonly informer: string
  readonly selection: Selection
  /** The key of the shown object. */
  readonly shown: string | undefined
  /** Changes when the store may have changed. */
  readonly revision: number
  onSelection(selection: Selection): void
  onKey(key: string | undefined): void
}

const PAGE = 100
/** The keys that select another row, with their steps. */
const STEPS: ReadonlyMap<string, number> = new Map([
  ['ArrowDown', 1],
  ['j', 1],
  ['ArrowUp', -1],
  ['k', -1],
  ['PageDown', 20],
  ['PageUp', -20],
])

/** Search, facets, the list of objects, and one object with its history. */
export function ObjectsView(props: ObjectsViewProps): JSX.Element {
  const { informer, selection, shown, revision, onSelection, onKey } = props
  const { rows, total, isCut, problem, load } = useRows(informer, selection, revision)
  const [at, setAt] = useState(-1)
  // Layout effects: the next key may be pressed before the effects after the paint, and would find the position before.
  useLayoutEffect(() => setAt(-1), [informer, selection])
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(total - 1, to))
    setAt(next)
    const row = rows.get(next)
    if (row !== undefined) onKey(row.key)
  }
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const step = STEPS.get(event.key)
      if (step === undefined || event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      move(at + step)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  })
  return (
    <section class="objects">
      <Facets informer={informer} selection={selection} revision={revision} onSelection={onSelection} />
      <div class="column">
        <div class="bar">
          <input
            type="search"
            id="search"
            placeholder="Search keys and objects  ( / )"
            aria-label="search"
            value={selection.text}
            onInput={({ currentTarget }) => onSelection({ ...selection, text: currentTarget.value })}
          />
          <span class="muted" id="total">
            {problem ?? `${count(total)}${isCut ? ' or more' : ''} objects`}
          </span>
        </div>
        <VirtualList
          count={total}
          selected={at}
          label="objects"
          onRange={load}
          row={(nth) => {
            const row = rows.get(nth)
            return (
              <button
                type="button"
                tabIndex={-1}
                class={row !== undefined && row.key === shown ? 'row selected' : 'row'}
                aria-pressed={row !== undefined && row.key === shown}
                key={nth}
                onClick={() => move(nth)}
              >
                <b>{row?.key ?? '…'}</b> <span class="preview">{row?.preview}</span>
              </button>
            )
          }}
        />
      </div>
      {shown === undefined ? null : (
        <ObjectDetails informer={informer} name={shown} revision={revision} onClose={() => onKey(undefined)} />
      )}
    </section>
  )
}

interface Rows {
  readonly rows: ReadonlyMap<number, ObjectRow>
  readonly total: number
  readonly isCut: boolean
  readonly problem: string | undefined
  load(first: number, last: number): void
}

/** Reads the visible rows, and reads them again when the store may have changed. */
function useRows(informer: string, selection: Selection, revision: number): Rows {
  const [state, setState] = useState<Omit<Rows, 'load'>>({
    rows: new Map(),
    total: 0,
    isCut: false,
    problem: undefined,
  })
  const range = useRef<readonly [number, number]>([0, PAGE])
  const pending = useRef<Selection | undefined>(undefined)
  const isDue = useRef(false)
  const read = useCallback(async (): Promise<void> => {
    // A search of many objects may take longer than the time between two changes: one request at a time.
    isDue.current = pending.current === selection
    if (isDue.current) return
    pending.current = selection
    const [first, last] = range.current
    const result = await readRows(informer, selection, first, Math.max(PAGE, last - first)).catch(String)
    if (pending.current !== selection) return
    pending.current = undefined
    if (typeof result === 'string') setState((before) => ({ ...before, problem: result }))
    else {
      const rows = new Map(result.rows.map((row, nth) => [result.offset + nth, row] as const))
      setState({ rows, total: result.total, isCut: result.isCut, problem: undefined })
    }
    if (isDue.current) void read()
  }, [informer, selection])
  useEffect(() => void read(), [read, revision])
  const load = useCallback(
    (first: number, last: number) => {
      range.current = [first, last]
      void read()
    },
    [read],
  )
  return { ...state, load }
}

interface FacetsProps {
  readonly informer: string
  readonly selection: Selection
  readonly revision: number
  onSelection(selection: Selection): void
}

function Facets({ informer, selection, revision, onSelection }: FacetsProps): JSX.Element {
  const [facets, setFacets] = useState<readonly Facet[]>([])
  useEffect(() => {
    let isCurrent = true
    readFacets(informer).then(
      (read) => isCurrent && setFacets(read),
      () => {}, // The next revision reads them again.
    )
    return () => {
      isCurrent = false
    }
  }, [informer, revision])
  const toggle = (index: string, value: string): void => {
    const { [index]: chosen, ...others } = selection.values
    onSelection({ ...selection, values: chosen === value ? others : { ...others, [index]: value } })
  }
  return (
    <nav class="facets" aria-label="facets">
      {facets.map(({ index, size, largest }) => (
        <div key={index}>
          <h3>
            {index} <span class="muted">{count(size)}</span>
          </h3>
          {largest.map(({ value, count: objects }) => (
            <button
              type="button"
              key={value}
              class={selection.values[index] === value ? 'facet chosen' : 'facet'}
              aria-pressed={selection.values[index] === value}
              onClick={() => toggle(index, value)}
            >
              <span>{value}</span> <span class="muted">{count(objects)}</span>
            </button>
          ))}
        </div>
      ))}
      {facets.length === 0 ? <p class="muted">No indexes.</p> : null}
    </nav>
  )
}

interface ObjectDetailsProps {
  readonly informer: string
  /** The key of the object. */
  readonly name: string
  readonly revision: number
  onClose(): void
}

function ObjectDetails({ informer, name, revision, onClose }: ObjectDetailsProps): JSX.Element {
  const [page, setPage] = useState<ObjectPage | undefined>(undefined)
  useEffect(() => {
    let isCurrent = true
    readObject(informer, name).then(
      (read) => isCurrent && setPage(read),
      () => {}, // The next revision reads it again.
    )
    return () => {
      isCurrent = false
    }
  }, [informer, name, revision])
  return (
    <aside class="details" aria-label="object">
      <div class="bar">
        <h2>{name}</h2>
        <button type="button" onClick={onClose} aria-label="close">
          ×
        </button>
      </div>
      <p class="muted">
        {page?.object === null ? 'not in the store' : `version ${page?.version ?? '–'}`}
        {page?.uid === undefined ? '' : `, uid ${page.uid}`}
      </p>
      <pre>{JSON.stringify(page?.object, undefined, 2)}</pre>
      <h3>Recent changes</h3>
      <ul>
        {page?.history.map((change) => (
          <ChangeLine change={change} key={change.number} />
        ))}
      </ul>
    </aside>
  )
}
