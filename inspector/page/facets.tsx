import type { JSX } from 'preact'
import type { Facet } from '../object-query.js'
import { readFacets, type Selection, useRead } from './api.js'
import { count } from './formats.js'

interface FacetsProps {
  readonly informer: string
  readonly selection: Selection
  readonly revision: number
  onSelection(selection: Selection): void
}

/** Values that do not change their places while their counts change. */
function inOrder(values: Facet['largest']): Facet['largest'] {
  return values.toSorted((a, b) => a.value.localeCompare(b.value, 'en', { numeric: true }))
}

/** The values of indexes: all of them if they are few, else a field for one of them. */
export function Facets({ informer, selection, revision, onSelection }: FacetsProps): JSX.Element | null {
  const facets = useRead(() => readFacets(informer), informer, revision)
  const choose = (index: string, value: string): void => {
    const { [index]: chosen, ...others } = selection.values
    const isRemoved = value === '' || value === chosen
    onSelection({ ...selection, values: isRemoved ? others : { ...others, [index]: value } })
  }
  if (facets?.length === 0) return null
  return (
    <nav class="facets" aria-label="facets">
      {facets?.map(({ index, size, largest }) => (
        <div key={index}>
          <h3>
            <span>{index}</span>
            <span title={size === null ? 'A large sorted index is not counted.' : ''}>
              {size === null ? 'not counted' : `${count(size)} ${size === 1 ? 'value' : 'values'}`}
            </span>
          </h3>
          {largest.length === size ? (
            inOrder(largest).map(({ value, count: objects }) => (
              <button
                type="button"
                key={value}
                class="facet"
                title={value}
                aria-pressed={selection.values[index] === value}
                onClick={() => choose(index, value)}
              >
                <span>{value || '(empty)'}</span> <span class="muted">{count(objects)}</span>
              </button>
            ))
          ) : (
            <>
              <input
                type="search"
                list={`values-${index}`}
                placeholder="exact value"
                aria-label={`value of ${index}`}
                // Not `value`: what the user types stays while the counts change.
                defaultValue={selection.values[index] ?? ''}
                key={selection.values[index] ?? ''}
                onChange={({ currentTarget: { value } }) => value !== selection.values[index] && choose(index, value)}
              />
              <datalist id={`values-${index}`}>
                {largest.map(({ value }) => (
                  <option key={value} value={value} />
                ))}
              </datalist>
            </>
          )}
        </div>
      ))}
    </nav>
  )
}
