import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Inspection } from '../../src/informer/observation/inspect-types.js'
import type { Sample } from '../informer-page.js'
import { readStatus } from './api.js'
import { bytes, clockTime, count, duration } from './formats.js'
import { Graph } from './graph.js'

interface StatusViewProps {
  readonly informer: string
  readonly samples: readonly Sample[]
}

/** Graphs, sources, subscriptions, controllers, indexes and transitions. */
export function StatusView({ informer, samples }: StatusViewProps): JSX.Element {
  const [status, setStatus] = useState<Inspection | undefined>(undefined)
  const last = samples.at(-1)?.at
  useEffect(() => {
    readStatus(informer).then(setStatus, () => {}) // The next sample reads it again.
  }, [informer, last])
  const times = useMemo(() => samples.slice(1).map(({ at }) => at / 1_000), [samples])
  const rates = useMemo(() => samples.slice(1).map((sample, nth) => rateOf(samples[nth], sample)), [samples])
  const lags = useMemo(() => samples.slice(1).map(({ lagMs }) => lagMs), [samples])
  return (
    <section class="status">
      <div class="graphs">
        <Graph title="Changes" unit="/s" times={times} values={rates} />
        <Graph title="Lag" unit="ms" times={times} values={lags} />
      </div>
      {status === undefined ? null : <Tables status={status} />}
    </section>
  )
}

function rateOf(before: Sample | undefined, { at, changes }: Sample): number {
  return before === undefined ? 0 : ((changes - before.changes) * 1_000) / Math.max(1, at - before.at)
}

function Tables({ status }: { readonly status: Inspection }): JSX.Element {
  const { sources, subscriptions, indexes, transitions, memory, invalid } = status
  const controllers = subscriptions.first.filter(({ kind }) => kind === 'controller')
  const failing = controllers.flatMap(({ name, failing }) => failing.first.map((each) => ({ ...each, of: name })))
  return (
    <>
      <Table
        title="Sources"
        head={['source', 'state', 'reason', 'version', 'silent for', 'lag', 'proven', 'relists', 'reconnects']}
        rows={sources.first.map((each) => [
          each.name,
          each.state,
          each.lastError === null || each.state === 'live' ? each.reason : `${each.reason}; ${each.lastError}`,
          each.version ?? '–',
          duration(each.staleMs),
          duration(each.lagMs),
          each.proof === null ? '–' : `${duration(each.proof.ageMs)} ago by ${each.proof.by}`,
          count(each.relists),
          count(each.reconnects),
        ])}
      />
      <Table
        title="Subscriptions and controllers"
        head={['name', 'kind', 'scope', 'pending keys', 'oldest', 'running', 'slowest', 'succeeded', 'failed']}
        rows={subscriptions.first.map((each) => [
          each.name ?? '–',
          each.kind,
          scopeOf(each),
          count(each.backlog.keys),
          duration(each.backlog.oldestMs),
          each.running === null ? '–' : `${each.running.key} for ${duration(each.running.ms)}`,
          each.slowest === null ? '–' : `${each.slowest.key}: ${duration(each.slowest.ms)}`,
          count(each.succeeded),
          count(each.failed),
        ])}
      />
      {failing.length === 0 ? null : (
        <Table
          title="Failing keys"
          head={['controller', 'key', 'attempt', 'next run', 'last error']}
          rows={failing.map((each) => [
            each.of ?? '–',
            each.key,
            count(each.attempt),
            `in ${duration(each.retryInMs)}`,
            each.lastError,
          ])}
        />
      )}
      <Table
        title={`Indexes, about ${bytes(memory.bytes)} in memory`}
        head={['index', 'values', 'largest']}
        rows={indexes.first.map(({ name, values, largest }) => [
          name,
          count(values),
          largest
            .slice(0, 5)
            .map(({ value, objects }) => `${value} (${count(objects)})`)
            .join(', '),
        ])}
      />
      {invalid.count === 0 ? null : (
        <Table
          title={`Invalid objects: ${count(invalid.count)}`}
          head={['key', 'error']}
          rows={invalid.first.map(({ key, error }) => [key, error])}
        />
      )}
      <Table
        title="Transitions"
        head={['at', 'source', 'from', 'to', 'reason']}
        rows={transitions
          .toReversed()
          .map((each) => [clockTime(each.at), each.source, each.from, each.to, each.reason])}
      />
    </>
  )
}

function scopeOf({ scope: { key, where, isFiltered } }: Inspection['subscriptions']['first'][number]): string {
  const parts = Object.entries(where).map(([index, value]) => `${index} = ${value}`)
  if (key !== null) parts.push(`key ${key}`)
  if (isFiltered) parts.push('filter')
  return parts.join(', ') || 'all objects'
}

interface TableProps {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function Table({ title, head, rows }: TableProps): JSX.Element {
  return (
    <div class="table">
      <h3>{title}</h3>
      <table>
        <thead>
          <tr>
            {head.map((each) => (
              <th key={each}>{each}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, nth) => (
            <tr key={`${nth} ${cells[0]}`}>
              {cells.map((cell, column) => (
                <td key={head[column]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 ? <p class="muted">none</p> : null}
    </div>
  )
}
