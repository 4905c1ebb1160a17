// Program 02 assumes jobs, a cluster that runs them, and events of pods.
import { EventEmitter } from 'node:events'
import { memorySource } from 'listwatch/memory'

interface Job {
  readonly name: string
  readonly image: string
  readonly phase: 'pending' | 'running' | 'done'
}

const note = (text: string): void => void process.send?.({ type: 'note', note: text })
const pods = new EventEmitter()
const source = memorySource<Job>({
  entries: [
    ['migrate', { name: 'migrate', image: 'm:1', phase: 'pending' }],
    ['report', { name: 'report', image: 'r:1', phase: 'pending' }],
  ],
})
const asked = new Map<string, number>()

Object.assign(globalThis, {
  source,
  pods,
  ensureRunning: async ({ name, phase }: Job, signal: AbortSignal): Promise<'ok' | 'wait'> => {
    signal.throwIfAborted()
    const times = (asked.get(name) ?? 0) + 1
    asked.set(name, times)
    note(`ensure ${name} ${phase} ${times}`)
    return name === 'report' && times === 1 ? 'wait' : 'ok'
  },
  cleanup: async (image: string): Promise<void> => note(`cleanup ${image}`),
})

process.on('message', ({ what, name }: { readonly what: string; readonly name: string }) => {
  if (what === 'pod') pods.emit('pod', { owner: name })
  if (what === 'delete') source.delete(name)
  if (what === 'done') source.put(name, { name, image: 'm:1', phase: 'done' })
})
