import type { JSX } from 'preact'
import type { ShownChange } from '../recent-changes.js'
import { clockTime, inline } from './formats.js'

/** A change in one line, with its changed fields. */
export function ChangeLine({
  change,
  onKey,
}: {
  readonly change: ShownChange
  onKey?(key: string): void
}): JSX.Element {
  const { type, key, at, origin, differences, object } = change
  return (
    <li class={`change ${type}`}>
      <time>{clockTime(at)}</time> <span class="type">{type}</span>{' '}
      {onKey === undefined ? (
        <span class="origin">{origin}</span>
      ) : (
        <button type="button" class="key" onClick={() => onKey(key)}>
          {key}
        </button>
      )}{' '}
      {differences.map(({ path, before, after }) => (
        <span class="difference" key={path.join('.')}>
          <i>{path.join('.') || 'object'}</i> <del>{inline(before)}</del> → <ins>{inline(after)}</ins>
        </span>
      ))}
      {type === 'update' ? null : <span class="preview">{inline(object)}</span>}
    </li>
  )
}
