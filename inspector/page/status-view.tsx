import type { JSX } from 'preact'
import type { Inspection } from '../../src/informer/observation/inspect-types.js'
import type { Sample } from '../informer-page.js'
import { readStatus, useRead } from './api.js'
import { Chart, lagsOf, NO_LAG, ratesOf } from './chart.js'
import { bytes, count, duration, isoTime } from './formats.js'

interface StatusViewProps {
  readonly informer: string
  readonly samples: readonly Sample[]
}

export function StatusView({ informer, samples }: StatusViewProps): JSX.Element {
  const status = useRead(() => readStatus(informer), informer, samples.at(-1)?.at)
  return (
    <section class="status">
      <div class="charts">
        <Chart title="Changes" unit="/s" samples={samples} values={ratesOf(samples)} />
        <Chart title="Lag" unit="ms" samples={samples} values={lagsOf(samples)} absence={NO_LAG} />
      </div>
      {status === undefined ? <p class="empty">Loading…</p> : <Tables status={status} />}
    </section>
  )
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
          duration(each.silentMs),
          duration(each.lagMs),
          each.proof === null ? '–' : `${duration(each.proof.ageMs)} ago by ${each.proof.by}`,
          count(each.relists),
          count(each.reconnects),
        ])}
      />
      {status.view === null ? null : (
        <Table
          title="View"
          head={['inputs', 'evaluations', 'for each change', 'reads']}
          rows={[
            [
              status.view.inputs.first.join(', '),
              count(status.view.evaluations),
              status.view.evaluationsPerChange === null ? '–' : String(status.view.evaluationsPerChange),
              count(status.view.reads),
            ],
          ]}
        />
      )}
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
        rows={transitions.toReversed().map((each) => [isoTime(each.at), each.source, each.from, each.to, each.reason])}
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

/** Columns whose values are not numbers, even if they look so. */
const TEXTS: readonly string[] = ['name', 'key', 'index', 'source', 'version']
const NUMERIC = /^(–|[\d,.]+( (ms|s|min|h))?)$/

function Table({ title, head, rows }: TableProps): JSX.Element {
  const isNumeric = head.map(
    (name, column) =>
      rows.length > 0 && rows.every((cells) => NUMERIC.test(cells[column] ?? '')) && !TEXTS.includes(name),
  )
  return (
    <div class="table">
      <h3>{title}</h3>
      <table>
        <thead>
          <tr>
            {head.map((each, column) => (
              <th key={each} class={isNumeric[column] ? 'number' : ''}>
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, nth) => (
            <tr key={`${nth} ${cells[0]}`}>
              {cells.map((cell, column) => (
                <td key={head[column]} class={isNumeric[column] ? 'number' : ''}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 ? <p class="muted">none</p> : null}
    </div>
  )
}
