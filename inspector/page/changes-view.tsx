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
  return (
    <section class="tape">
      <div class="bar">
        <button type="button" onClick={() => setFrozen(frozen === undefined ? changes : undefined)}>
          {frozen === undefined ? 'Pause' : 'Resume'}
        </button>
        <span class="muted">the last {count(shown.length)} changes, the newest first</span>
      </div>
      <ul aria-label="changes">
        {shown.map((change) => (
          <ChangeLine change={change} onKey={onKey} key={change.number} />
        ))}
      </ul>
      {shown.length === 0 ? <p class="muted">No change has arrived since this page was opened.</p> : null}
    </section>
  )
}
