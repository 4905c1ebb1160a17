import type { JSX } from 'preact'
import type { ShownChange } from '../recent-changes.js'
import { clockTime, inline, isoTime } from './formats.js'

const TOOLTIP = 2_000

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
      <time dateTime={isoTime(at)} title={isoTime(at)}>
        {clockTime(at)}
      </time>
      <span class="type" title={`origin: ${origin}`}>
        {type}
      </span>
      {onKey === undefined ? null : (
        <button type="button" class="open" title={key} onClick={() => onKey(key)}>
          {key}
        </button>
      )}
      <span class="fields">
        {differences.map(({ path, before, after }) => (
          <span class="difference" key={path.join('.')}>
            <i>{path.join('.') || 'object'}</i> <del title={inline(before, TOOLTIP)}>{inline(before)}</del> →{' '}
            <ins title={inline(after, TOOLTIP)}>{inline(after)}</ins>
          </span>
        ))}
        {type === 'update' ? null : (
          <span class="preview" title={inline(object, TOOLTIP)}>
            {inline(object, 400)}
          </span>
        )}
      </span>
    </li>
  )
}
