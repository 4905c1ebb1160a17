import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ObjectField } from '../object-fields.js'
import { readFields } from './api.js'
import { recall, remember } from './formats.js'

interface Columns {
  readonly fields: readonly ObjectField[]
  /** The chosen ones; undefined until they are known. */
  readonly columns: readonly ObjectField[] | undefined
  /** Undefined: the columns are chosen automatically again. */
  choose(paths: readonly string[] | undefined): void
}

/** The columns of an informer: those that the user has chosen, also on an earlier visit, or those that fit the objects. */
export function useColumns(informer: string, revision: number): Columns {
  const [fields, setFields] = useState<readonly ObjectField[] | undefined>(undefined)
  const [chosen, setChosen] = useState<readonly string[] | undefined>(() => remembered(informer))
  // The fields of an empty store are read again.
  const isKnown = fields !== undefined && fields.length > 0
  useEffect(() => {
    if (!isKnown) void readFields(informer).then(setFields, () => setFields([]))
  }, [informer, isKnown ? 0 : revision])
  const columns = useMemo(() => {
    if (fields === undefined) return undefined
    if (chosen === undefined) return fields.filter(({ isColumn }) => isColumn)
    return chosen.map(
      (path) => fields.find((field) => field.path === path) ?? ({ path, type: 'text', isColumn: false } as const),
    )
  }, [fields, chosen])
  const choose = (paths: readonly string[] | undefined): void => {
    remember(`columns-${informer}`, paths === undefined ? null : JSON.stringify(paths))
    setChosen(paths)
  }
  return { fields: fields ?? [], columns, choose }
}

function remembered(informer: string): readonly string[] | undefined {
  try {
    const paths: unknown = JSON.parse(recall(`columns-${informer}`) ?? 'null')
    return Array.isArray(paths) ? paths.map(String) : undefined
  } catch {
    return undefined // Another program has written it.
  }
}

export function ColumnsMenu({ fields, columns = [], choose }: Columns): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null)
  const paths = columns.map(({ path }) => path)
  const all = new Set([...fields.map(({ path }) => path), ...paths])
  useEffect(() => {
    const close = (event: Event): void => {
      const isOutside = !(event.target instanceof Node && menu.current?.contains(event.target))
      if (menu.current !== null && (event instanceof KeyboardEvent ? event.key === 'Escape' : isOutside))
        menu.current.open = false
    }
    for (const name of ['pointerdown', 'keydown']) addEventListener(name, close)
    return () => {
      for (const name of ['pointerdown', 'keydown']) removeEventListener(name, close)
    }
  }, [])
  return (
    <details class="menu" ref={menu}>
      <summary>Columns</summary>
      <div>
        {Array.from(all, (path) => (
          <label key={path} title={path}>
            <input
              type="checkbox"
              checked={paths.includes(path)}
              onChange={() => choose(paths.includes(path) ? paths.filter((each) => each !== path) : [...paths, path])}
            />
            {path}
          </label>
        ))}
        <button type="button" onClick={() => choose(undefined)}>
          Choose automatically
        </button>
      </div>
    </details>
  )
}
