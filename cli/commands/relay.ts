import { natsLeases, natsRelayStore } from '../../adapters/nats/index.js'
import { redisLeases, redisRelayStore } from '../../adapters/redis/index.js'
import { type RelayServing, type RelayStatus, relayCache, serveRelay } from '../../serving/relay/index.js'
import { systemClock } from '../../src/contract/clock.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { Leases } from '../../src/contract/leases.js'
import type { RelayStore } from '../../src/contract/relay-store.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { type Command, colors } from '../bundled.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { awaitFirstList } from '../output/first-list.js'
import { RateMeter } from '../output/rate-meter.js'
import { labelled, statusLines, thousands, wrapParts } from '../output/status-view.js'
import { showView, sleepUnlessAborted } from '../output/terminal-ui.js'
import { say } from '../output/write-all.js'
import { shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import { assertRelayName, closeNats, connectNats } from '../sources/open-nats.js'
import { addressOf } from '../sources/open-redis.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'
import { durationOf } from './watch.js'

export interface RelayFlags {
  readonly to: string
  readonly as?: string
  readonly retention?: number
  readonly showSecrets?: boolean
  readonly for?: string
}

/** How long Ctrl-C waits until the changes that wait are written, in milliseconds. */
const DRAIN_MS = 5_000
/** In a pipe, the status is compared at this interval, and printed at least at the other one, in milliseconds. */
const LOOK_MS = 100
const LINE_MS = 10_000

export async function relay(url: string, flags: RelayFlags & SourceFlags, command: Command): Promise<void> {
  const forMs = durationOf(flags) // It is checked before anything is opened.
  using open = await openSource(url, flags, command)
  using target = await openRelayStore(flags.to, flags.as ?? open.of, flags.retention)
  const { store, leases } = target
  using shutdown = shutdownSignal()
  if (open.source.isSensitive === true && flags.showSecrets !== true)
    throw new CliError(`the source has secrets, and ${store.name} would contain them: allow it with --show-secrets`)
  await using rows = createInformer({ source: open.source, cache: relayCache(store) })
  const relaying = serveRelay(rows, store, { secrets: true, leases })
  const hasScreen = process.stdout.isTTY
  let isListed = false
  try {
    const print = ({ message }: SourceError): void => {
      if (!hasScreen) process.stderr.write(`listwatch: ${oneLine(open.message(message))}\n`)
    }
    rows.on('error', (error) => {
      if (!isMistake(error) || rows.status.isSynced) print(error)
    })
    relaying.on('error', print)
    await awaitFirstList(rows, open, shutdown.signal, isMistake)
    isListed = true
    shutDownAfter(forMs, shutdown)
    const keys = new Map([['q', () => shutdown.abort()]])
    const meter = new RateMeter()
    const count = (): void => meter.add(rows.status.lagMs)
    rows.subscribe({ add: ({ origin }) => origin !== 'initial' && count(), update: count, delete: count })
    const frame = (): string[] => [
      ...statusLines(open.source.name, rows.status, ['objects', rows.size], meter),
      ...relayLines(store.name, relaying.status),
      colors.dim('[q] quit'),
    ]
    if (hasScreen) await showView({ frame, line: () => '' }, keys, shutdown.signal)
    else await printStatus(relaying, shutdown.signal)
  } finally {
    await relaying.stop({ drainMs: DRAIN_MS })
    if (!hasScreen && isListed) printLine(relaying.status)
  }
}

/** Whether a retry is of no use. A relay waits for a source that does not respond, and lists after a gap. */
function isMistake({ code }: SourceError): boolean {
  return ['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL'].includes(code)
}

function relayLines(name: string, { state, reason, batches, changes, backlog, replica }: RelayStatus): string[] {
  return wrapParts([
    `${colors.bold('to')} ${name}`,
    state === 'live' ? colors.green(state) : colors.yellow(state),
    colors.dim(oneLine(reason)),
    labelled('batches', thousands(batches)),
    labelled('changes', thousands(changes)),
    labelled('waiting', thousands(backlog.keys)),
    ...(replica === undefined ? [] : [labelled('relays', String(Math.max(1, replica.members.length)))]),
  ])
}

async function printStatus(relaying: RelayServing, signal: AbortSignal): Promise<void> {
  let printed = { state: '', at: -Infinity }
  do {
    const { status } = relaying
    const now = systemClock.now()
    if (status.state === printed.state && now - printed.at < LINE_MS) continue
    printed = { state: status.state, at: now }
    printLine(status)
  } while (await sleepUnlessAborted(LOOK_MS, signal))
}

function printLine({ state, reason, version, batches, changes, backlog, lastError }: RelayStatus): void {
  const error = lastError === undefined ? undefined : oneLine(lastError.message)
  say(JSON.stringify({ type: 'status', state, reason, version, batches, changes, backlog, error }))
}

/** The store that the option --to names, and the leases of its relays. */
interface OpenRelayStore extends Disposable {
  readonly store: RelayStore
  readonly leases: Leases
  /** Closes the client of the user's driver. Stop the relay first. */
  [Symbol.dispose](): void
}

async function openRelayStore(url: string, name: string, retention: number | undefined): Promise<OpenRelayStore> {
  if (/^(nats|tls):\/\//i.test(url)) {
    if (retention !== undefined)
      throw new CliError('--retention is an option of Redis: NATS keeps delete markers for one hour')
    assertRelayName(name, '--as')
    const { connection } = await connectNats(url)
    return {
      store: natsRelayStore({ client: connection, relay: name }),
      leases: natsLeases({ client: connection, group: `relay:${name}`, mode: 'leader' }),
      [Symbol.dispose]: () => closeNats(connection),
    }
  }
  if (!/^rediss?:\/\//i.test(url))
    throw new CliError('--to must name an engine: redis://host:6379 (rediss://) or nats://host:4222 (tls://)')
  if (/[{}]/.test(name)) throw new CliError('the name of the relay must be without { and }: choose another one by --as')
  const { shown: _, ...address } = addressOf(url)
  const { Redis } = await loadPackage('ioredis', () => import('ioredis'))
  const client = new Redis({ ...address, lazyConnect: true })
  return {
    store: redisRelayStore({ client, relay: name, ...(retention === undefined ? {} : { retention }) }),
    leases: redisLeases({ client, group: `relay:${encodeURIComponent(name)}`, mode: 'leader' }),
    [Symbol.dispose]: () => client.disconnect(),
  }
}
