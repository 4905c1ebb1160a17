import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ShownChange } from '../recent-changes.js'
import { ChangeLine } from './differences.js'
import { count } from './formats.js'

interface ChangesViewProps {
  readonly changes: readonly ShownChange[]
  onKey(key: string): void
}

/** The newest changes, as they arrive. */
export function ChangesView({ changes, onKey }: ChangesViewProps): JSX.Element {
  const [frozen, setFrozen] = useState<readonly ShownChange[] | undefined>(undefined)
  const shown = frozen ?? changes
  const missed = frozen === undefined ? 0 : (changes[0]?.number ?? 0) - (frozen[0]?.number ?? 0)
  return (
    <section class="tape">
      <div class="bar">
        <button type="button" onClick={() => setFrozen(frozen === undefined ? changes : undefined)}>
          {frozen === undefined ? 'Pause' : 'Resume'}
        </button>
        <span class="muted">
          {frozen === undefined ? `the last ${count(shown.length)} changes, the newest first` : 'paused'}
          {missed > 0 ? `; ${count(missed)} more have arrived` : ''}
        </span>
      </div>
      <ul aria-label="changes">
        {shown.map((change) => (
          <ChangeLine change={change} onKey={onKey} key={change.number} />
        ))}
      </ul>
      {shown.length === 0 ? <p class="empty">No change has arrived yet. Changes appear here as they happen.</p> : null}
    </section>
  )
}
