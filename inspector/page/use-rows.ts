import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { ObjectRow } from '../informer-page.js'
import { oneAtATime, readRows, type Selection } from './api.js'

export interface Rows {
  readonly rows: ReadonlyMap<number, ObjectRow>
  readonly selection: Selection | undefined
  readonly total: number
  readonly isCut: boolean
  readonly ageMs: number
  /** Whether these are the rows of an earlier selection, because the search continues. */
  readonly isLoading: boolean
  readonly problem: string | undefined
  load(first: number, last: number): void
}

const PAGE = 100
/** The time between a letter of the search and its request, in milliseconds. */
const TYPING_MS = 150
/** The time until rows of an earlier moment are read again, in milliseconds. */
const AGAIN_MS = 1_000

/** Reads the visible rows, and reads them again when the store may have changed. */
export function useRows(
  informer: string,
  selection: Selection,
  columns: readonly string[] | undefined,
  revision: number,
): Rows {
  const [state, setState] = useState<Omit<Rows, 'load'>>({
    rows: new Map(),
    selection: undefined,
    total: 0,
    isCut: false,
    ageMs: 0,
    isLoading: true,
    problem: undefined,
  })
  const range = useRef<readonly [number, number]>([0, PAGE])
  const current = useRef<() => void>(() => {})
  useEffect(() => {
    if (columns === undefined) return
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    // A search of many objects may take longer than the time between two changes.
    const read = oneAtATime(async () => {
      if (left.signal.aborted) return
      const [first, last] = range.current
      const limit = Math.max(PAGE, last - first)
      const result = await readRows(informer, selection, columns, first, limit, left.signal).catch(
        ({ message }: Error) => message,
      )
      if (left.signal.aborted) return
      if (typeof result === 'string') setState((before) => ({ ...before, isLoading: false, problem: result }))
      else {
        const rows = new Map(result.rows.map((row, nth) => [result.offset + nth, row] as const))
        setState({ ...result, rows, selection, isLoading: false, problem: undefined })
        // Without a further change, the rows would stay as old as the search that the server has used again.
        clearTimeout(timer)
        if (result.ageMs > 0) timer = setTimeout(read, AGAIN_MS)
      }
    })
    setState((before) => ({ ...before, isLoading: true }))
    timer = setTimeout(read, selection.text === '' ? 0 : TYPING_MS)
    current.current = read
    return () => {
      clearTimeout(timer)
      left.abort() // The server ends its search.
    }
  }, [informer, selection, columns])
  useEffect(() => current.current(), [revision])
  const load = useCallback((first: number, last: number) => {
    range.current = [first, last]
    current.current()
  }, [])
  return { ...state, load }
}
