import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ObjectPage } from '../informer-page.js'
import { readObject } from './api.js'
import { ChangeLine } from './differences.js'
import { Json } from './json.js'

interface ObjectDetailsProps {
  readonly informer: string
  /** The key of the object. */
  readonly name: string
  readonly revision: number
  onClose(): void
}

/** One object as JSON with its recent changes. The fields of the last change are marked. */
export function ObjectDetails({ informer, name, revision, onClose }: ObjectDetailsProps): JSX.Element {
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
