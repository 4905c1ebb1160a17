import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Selection } from './api.js'
import { ColumnsMenu, useColumns } from './columns.js'
import { Facets } from './facets.js'
import { count, duration } from './formats.js'
import { ObjectDetails } from './object-details.js'
import { ObjectTable } from './object-table.js'
import { useRows } from './use-rows.js'

interface ObjectsViewProps {
  readonly informer: string
  readonly selection: Selection
  readonly shown: string | undefined
  readonly revision: number
  onSelection(selection: Selection): void
  onKey(key: string | undefined): void
}

/** The keys that select another row, with their steps. */
const ROWS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }
const STEPS: ReadonlyMap<string, number> = new Map(Object.entries(ROWS))
const OLD_MS = 2_000

export function ObjectsView(props: ObjectsViewProps): JSX.Element {
  const { informer, selection, shown, revision, onSelection, onKey } = props
  const chosen = useColumns(informer, revision)
  const { columns } = chosen
  const paths = useMemo(() => columns?.map(({ path }) => path), [columns])
  const rows = useRows(informer, selection, paths, revision)
  const { total, isCut, ageMs, isLoading, problem } = rows
  const [at, setAt] = useState(-1)
  const [hasFilters, setFilters] = useState(false)
  // Layout effects: the next key may be pressed before the effects after the paint, and would find the position before.
  useLayoutEffect(() => setAt(-1), [informer, selection])
  // A row that is not loaded yet is opened when it is.
  const wanted = useRef(-1)
  const open = (): void => {
    const row = rows.rows.get(wanted.current)
    if (row === undefined) return
    wanted.current = -1
    onKey(row.key)
  }
  useEffect(open, [rows.rows])
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(total - 1, to))
    setAt(next)
    wanted.current = next
    open()
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
  const chips = Object.entries(selection.values)
  const without = (index: string): Record<string, string> =>
    Object.fromEntries(chips.filter(([each]) => each !== index))
  return (
    <section class={hasFilters ? 'objects filtering' : 'objects'}>
      <Facets informer={informer} selection={selection} revision={revision} onSelection={onSelection} />
      <div class="column">
        <div class="bar">
          <input
            type="search"
            id="search"
            placeholder="Search keys and objects"
            title="key /"
            aria-label="search"
            value={selection.text}
            onInput={({ currentTarget }) => onSelection({ ...selection, text: currentTarget.value })}
          />
          <button type="button" class="narrow" aria-pressed={hasFilters} onClick={() => setFilters(!hasFilters)}>
            Filters
          </button>
          <ColumnsMenu {...chosen} />
        </div>
        <div class="bar chips">
          <span id="total" aria-live="polite">
            {isLoading
              ? 'searching…'
              : `${count(total)}${isCut ? ' or more' : ''} ${total === 1 ? 'object' : 'objects'}`}
          </span>
          {ageMs < OLD_MS || isLoading ? null : (
            <span
              class="muted"
              title="A search that takes long is not repeated for each change. The values of the rows are current."
            >
              as of {duration(ageMs)} ago
            </span>
          )}
          {chips.map(([index, value]) => (
            <button
              type="button"
              class="chip"
              key={index}
              title={`show objects with other values of ${index} too`}
              onClick={() => onSelection({ ...selection, values: without(index) })}
            >
              {index}: {value} ×
            </button>
          ))}
        </div>
        {problem === undefined ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class={isLoading ? 'loading sheet' : 'sheet'}>
          <ObjectTable
            rows={rows}
            columns={columns ?? []}
            sort={selection.sort}
            selected={at}
            shown={shown}
            onSort={(sort) => onSelection({ ...selection, sort })}
            onRow={move}
            key={informer}
          />
          {total > 0 || isLoading || problem !== undefined ? null : (
            <p class="empty">
              {selection.text !== '' || chips.length > 0 ? (
                <>
                  No object matches.{' '}
                  <button type="button" onClick={() => onSelection({ ...selection, text: '', values: {} })}>
                    Show all
                  </button>
                </>
              ) : (
                'The mirror has no objects. Before the end of the first list it is empty.'
              )}
            </p>
          )}
        </div>
      </div>
      {shown === undefined ? null : (
        <ObjectDetails informer={informer} name={shown} revision={revision} onClose={() => onKey(undefined)} />
      )}
    </section>
  )
}
