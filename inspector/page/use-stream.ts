import { useEffect, useState } from 'preact/hooks'
import type { Sample } from '../informer-page.js'
import type { ShownChange } from '../recent-changes.js'

/** What the event stream of an informer has sent. */
export interface Stream {
  readonly isConnected: boolean
  /** The newest change first. */
  readonly changes: readonly ShownChange[]
  /** One a second, the oldest first. */
  readonly samples: readonly Sample[]
}

const MAX_CHANGES = 500
const MAX_SAMPLES = 300
const EMPTY: Stream = { isConnected: false, changes: [], samples: [] }

/** Follows an informer. The browser reconnects by itself, and resumes after the last change. */
export function useStream(informer: string | undefined): Stream {
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
      setStream((before) => ({
        ...before,
        changes: [...arrived.reverse(), ...before.changes].slice(0, MAX_CHANGES),
      }))
    })
    events.addEventListener('sample', ({ data }: MessageEvent<string>) => {
      const sample: Sample = JSON.parse(data)
      setStream((before) => ({ ...before, samples: [...before.samples, sample].slice(-MAX_SAMPLES) }))
    })
    return () => events.close()
  }, [informer])
  return stream
}
