import type { JSX } from 'preact'
import type { JsonValue } from '../object-json.js'
import { readObject, useRead } from './api.js'
import { ChangeLine } from './differences.js'

interface ObjectDetailsProps {
  readonly informer: string
  readonly name: string
  readonly revision: number
  onClose(): void
}

/** One object as JSON with its recent changes. The fields of the last change are marked. */
export function ObjectDetails({ informer, name, revision, onClose }: ObjectDetailsProps): JSX.Element {
  const page = useRead(() => readObject(informer, name), `${informer} ${name}`, revision)
  const shown = page?.key === name ? page : undefined
  const copy = (): void => void navigator.clipboard?.writeText(JSON.stringify(shown?.object, undefined, 2))
  return (
    <aside class="details" aria-label="object">
      <div class="bar">
        <h2>{name}</h2>
        <button type="button" onClick={copy} title="copy the JSON">
          Copy
        </button>
        <button type="button" onClick={onClose} aria-label="close" title="key Escape">
          ×
        </button>
      </div>
      {shown === undefined ? (
        <p class="muted">Loading…</p>
      ) : (
        <>
          <p class="muted">
            {shown.object === null ? 'not in the store' : `version ${shown.version ?? '–'}`}
            {shown.uid === undefined ? '' : `, uid ${shown.uid}`}
          </p>
          <Json value={shown.object} marked={shown.history[0]?.differences.map(({ path }) => path) ?? []} />
          <h3>Recent changes</h3>
          <ul>
            {shown.history.map((change) => (
              <ChangeLine change={change} key={change.number} />
            ))}
          </ul>
          {shown.history.length === 0 ? <p class="muted">None since the inspector began.</p> : null}
        </>
      )}
    </aside>
  )
}

interface JsonProps {
  readonly value: JsonValue
  /** The fields to mark, each with the names that lead to it. */
  readonly marked: readonly (readonly string[])[]
}

/** A longer text is shown without colors. */
const MAX_LINES = 2_000
const SEPARATOR = '\0'

function Json({ value, marked }: JsonProps): JSX.Element {
  const text = JSON.stringify(value, undefined, 2)
  if (text.split('\n', MAX_LINES).length === MAX_LINES) return <pre>{text}</pre>
  const prefixes = marked.map((path) => [...path, ''].join(SEPARATOR))
  return <pre>{linesOf(value, [], '', prefixes)}</pre>
}

function linesOf(value: JsonValue, path: readonly string[], comma: string, marked: readonly string[]): JSX.Element[] {
  const at = [...path, ''].join(SEPARATOR)
  const isMarked = marked.some((each) => at.startsWith(each))
  const isList = Array.isArray(value)
  const line = (text: JSX.Element | string, key: string, withName = true): JSX.Element => (
    <span class={isMarked ? 'json marked' : 'json'} key={`${at}${key}`}>
      {'  '.repeat(path.length)}
      {withName && name !== undefined && !/^\d+$/.test(name) ? <i>{JSON.stringify(name)}: </i> : null}
      {text}
      {'\n'}
    </span>
  )
  const name = path.at(-1)
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : []
  if (parts.length === 0) {
    const kind = value === null ? 'is-null' : `is-${typeof value}`
    return [
      line(
        <span class={kind}>
          {`${JSON.stringify(value)}`}
          {comma}
        </span>,
        'value',
      ),
    ]
  }
  const inner = parts.flatMap(([each, part], nth) =>
    linesOf(part, [...path, each], nth < parts.length - 1 ? ',' : '', marked),
  )
  return [line(isList ? '[' : '{', 'open'), ...inner, line(`${isList ? ']' : '}'}${comma}`, 'close', false)]
}
