import { type ComponentChildren, type JSX, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Sample } from '../informer-page.js'
import type { ShownChange } from '../recent-changes.js'
import { type InformerItem, openSession, RequestError, readInformers, type Selection } from './api.js'
import { Line, lagsOf, NO_LAG, ratesOf } from './chart.js'
import { ChangeLine } from './differences.js'
import { count, duration, recall, remember } from './formats.js'
import { ObjectsView } from './objects-view.js'
import { StatusView } from './status-view.js'

const TABS = ['Objects', 'Changes', 'Status'] as const
type Tab = (typeof TABS)[number]
const NO_SELECTION: Selection = { text: '', values: {}, sort: '' }
const SECONDS = 60

function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>('#search')
  search?.focus()
  return search !== null
}

function Page(): JSX.Element {
  const [informers, setInformers] = useState<readonly InformerItem[] | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const [tab, setTab] = useState<Tab>('Objects')
  const [selection, setSelection] = useState(NO_SELECTION)
  const [shown, setShown] = useState<string | undefined>(undefined)
  const informer = chosen ?? informers?.[0]?.name
  const { isConnected, changes, samples } = useStream(informer)
  const sample = samples.at(-1)
  const rates = ratesOf(samples)
  // Changes of the store are read again once a second, not for each change. A delete makes the size smaller by one.
  const revision = 2 * (sample?.changes ?? 0) + (sample?.size ?? 0)
  useEffect(() => {
    const read = (): void => void readInformers().then(setInformers, (error: unknown) => setProblem(explain(error)))
    void openSession().then(read)
  }, [])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') {
        setShown(undefined)
        if (event.target instanceof HTMLElement) event.target.blur()
      }
      if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return
      const tab = TABS[Number(event.key) - 1]
      if (tab !== undefined) setTab(tab)
      if (event.key === 't') toggleTheme()
      if (event.key !== '/') return
      event.preventDefault()
      setTab('Objects')
      // At once if it is shown: the next keys belong to the search.
      if (!focusSearch()) requestAnimationFrame(focusSearch)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
  const choose = (name: string): void => {
    setChosen(name)
    setSelection(NO_SELECTION)
    setShown(undefined)
  }
  const open = (key: string): void => {
    setShown(key)
    setTab('Objects')
  }
  if (problem !== undefined)
    return (
      <main>
        <p class="problem" role="alert">
          {problem}
        </p>
      </main>
    )
  return (
    <>
      <header>
        <h1>
          <img src="/icon.svg" alt="" />
          listwatch
        </h1>
        <select
          aria-label="informer"
          value={informer ?? ''}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          {informers?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span class={`state ${sample?.state ?? ''}`} id="state">
          {sample?.state ?? '…'}
        </span>
        {isConnected || samples.length === 0 ? null : (
          <span class="state failed" title="The page shows what the program sent last.">
            disconnected
          </span>
        )}
        <dl>
          <Figure name="objects" value={count(sample?.size)} />
          <Figure name="changes" value={`${count(Math.round(rates.at(-1) ?? 0))} /s`}>
            <Line values={rates} width={SECONDS} />
          </Figure>
          {sample?.lagMs == null ? (
            <Figure name="lag" value="not known" title={NO_LAG} />
          ) : (
            <Figure
              name="lag"
              value={duration(sample.lagMs)}
              title="from the commit of the newest change to its arrival"
            >
              <Line values={lagsOf(samples)} width={SECONDS} />
            </Figure>
          )}
          <Figure name="silent" value={duration(sample?.silentMs)} title="since the source last responded" />
          <Figure
            name="proven"
            value={sample?.proofAgeMs == null ? 'not yet' : `${duration(sample.proofAgeMs)} ago`}
            title="when the mirror was last compared with the source"
          />
        </dl>
        <nav aria-label="views">
          {TABS.map((each, nth) => (
            <button
              type="button"
              key={each}
              aria-pressed={tab === each}
              title={`key ${nth + 1}`}
              onClick={() => setTab(each)}
            >
              {each}
            </button>
          ))}
          <button type="button" title="key t" aria-label="dark or light" onClick={toggleTheme}>
            ◐
          </button>
        </nav>
      </header>
      <main>
        {informer === undefined ? <p class="empty">{informers === undefined ? 'Loading…' : 'No informers.'}</p> : null}
        {informer !== undefined && tab === 'Objects' ? (
          <ObjectsView
            key={informer}
            informer={informer}
            selection={selection}
            shown={shown}
            revision={revision}
            onSelection={setSelection}
            onKey={setShown}
          />
        ) : null}
        {tab === 'Changes' ? <ChangesView changes={changes} onKey={open} /> : null}
        {informer !== undefined && tab === 'Status' ? <StatusView informer={informer} samples={samples} /> : null}
      </main>
    </>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly title?: string
  readonly children?: ComponentChildren
}

function Figure({ name, value, title = '', children }: FigureProps): JSX.Element {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>
        {value} {children}
      </dd>
    </div>
  )
}

function explain(error: unknown): string {
  if (error instanceof RequestError && error.status === 401)
    return 'This page needs the token of the running program. Open the address that the program printed.'
  return `The program does not respond: ${error}`
}

function toggleTheme(): void {
  const root = document.documentElement
  const isDark =
    root.dataset['theme'] === 'dark' || (!root.dataset['theme'] && matchMedia('(prefers-color-scheme: dark)').matches)
  setTheme(isDark ? 'light' : 'dark')
}

function setTheme(theme: string | null): void {
  if (theme !== 'dark' && theme !== 'light') return
  document.documentElement.dataset['theme'] = theme
  remember('theme', theme)
}

interface ChangesViewProps {
  readonly changes: readonly ShownChange[]
  onKey(key: string): void
}

function ChangesView({ changes, onKey }: ChangesViewProps): JSX.Element {
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

interface Stream {
  readonly isConnected: boolean
  readonly changes: readonly ShownChange[]
  readonly samples: readonly Sample[]
}

const MAX_CHANGES = 500
const MAX_SAMPLES = 300
const EMPTY: Stream = { isConnected: false, changes: [], samples: [] }

/** Follows an informer. The browser reconnects by itself, and resumes after the last change. */
function useStream(informer: string | undefined): Stream {
  const [stream, setStream] = useState(EMPTY)
  useEffect(() => {
    setStream(EMPTY)
    if (informer === undefined) return
    const events = new EventSource(`/api/changes?informer=${encodeURIComponent(informer)}`)
    const setConnected = (isConnected: boolean): void => setStream((before) => ({ ...before, isConnected }))
    events.onopen = () => setConnected(true)
    events.onerror = () => setConnected(false)
    events.addEventListener('changes', ({ data }: MessageEvent<string>) => {
      const arrived: ShownChange[] = JSON.parse(data)
      setStream((before) => ({ ...before, changes: [...arrived.reverse(), ...before.changes].slice(0, MAX_CHANGES) }))
    })
    events.addEventListener('sample', ({ data }: MessageEvent<string>) => {
      const sample: Sample = JSON.parse(data)
      setStream((before) => ({ ...before, samples: [...before.samples, sample].slice(-MAX_SAMPLES) }))
    })
    return () => events.close()
  }, [informer])
  return stream
}

setTheme(recall('theme'))
render(<Page />, document.body)
