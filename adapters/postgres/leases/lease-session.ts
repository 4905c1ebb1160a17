import { systemClock } from '../../../src/contract/clock.js'
import { ABORTED, messageOf, OptionError, SourceError } from '../../../src/contract/errors.js'
import type { LeaseSession } from '../../../src/contract/leases.js'
import { DeadlineScope } from '../../common/deadline-scope.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import { LeaseViews, leaseLost, type StoredRecord } from '../../common/lease-records.js'
import { elementsOf, hasMethods, propertiesOf } from '../../common/properties.js'
import { unavailable } from '../../common/source-errors.js'
import { ClientFactory } from '../connection/client-factory.js'
import type { PgClient } from '../connection/pg-client.js'
import { codeOf, postgresError, shellWord } from '../connection/postgres-errors.js'
import { Session } from '../connection/session.js'
import { listenForWakeUps } from '../connection/wake-up-listener.js'
import { LEASES_CHANNEL, leaveSql, renewSql } from './leases-sql.js'
import { ignoreError, type PgPool, type PgPoolClient, survivePoolErrors } from './pg-pool.js'

interface SessionOptions extends LeaseSettings {
  readonly pool: PgPool
  readonly group: string
  readonly connect: (() => PgClient | Promise<PgClient>) | undefined
}

export function postgresLeaseSession(options: SessionOptions): LeaseSession {
  const { pool, group, connect, name, leaseMs, requestMs } = options
  const views = new LeaseViews(name)
  const closed = new AbortController()
  const releasePool = survivePoolErrors(pool)
  const clients = connect && new ClientFactory(connect, 'postgresLeases')
  /** The member of the last request. Its own notifications are ignored. */
  let own: string | undefined

  const request = async (text: string, signal: AbortSignal): Promise<unknown> => {
    signal.throwIfAborted()
    if (closed.signal.aborted) throw new SourceError('the lease session was closed', { code: 'STOPPED' })
    const scope = new DeadlineScope({ signal, clock: systemClock })
    const deadline = {
      ms: requestMs,
      late: () => {
        throw unavailable(`no response for ${Math.round(requestMs)} ms`)
      },
    }
    const connecting = borrowFrom(pool)
    try {
      const client = await scope.race(connecting, deadline)
      client.on('error', ignoreError) // It also rejects the query. Without a listener it would end the process.
      const results = await scope.race(client.query(text), deadline)
      client.off('error', ignoreError)
      client.release()
      const last = propertiesOf(elementsOf(results).at(-1))
      const [row] = elementsOf(last['rows'])
      return propertiesOf(row)['view']
    } catch (error) {
      // A client whose response did not arrive is closed: the next borrower would wait behind the lost request.
      const isBroken = !/^[0-9A-Z]{5}$/.test(codeOf(error) ?? '')
      connecting.then(
        (client) => {
          if (!isBroken) client.off('error', ignoreError)
          client.release(isBroken)
        },
        () => {}, // There is no client to give back.
      )
      signal.throwIfAborted()
      throw errorOf(error, group)
    } finally {
      scope.end(ABORTED)
    }
  }

  /** Listens over a connection of its own, until it is lost. */
  const listen = async (clients: ClientFactory, changed: () => void, signal: AbortSignal): Promise<void> => {
    const session = await Session.open(clients, { signal, clock: systemClock, timeoutMs: leaseMs })
    try {
      // Behind a pooler LISTEN would reach another session. Renewals find the changes.
      if (session.isPooled) return await systemClock.sleep(Number.MAX_SAFE_INTEGER, signal)
      const onWakeUp = (payload: string): void => {
        if (payload.startsWith(`${group} `) && payload !== `${group} ${own}`) changed()
      }
      await listenForWakeUps(session, { clock: systemClock, signal }, { channel: LEASES_CHANNEL, onWakeUp })
      for (;;) {
        await systemClock.sleep(leaseMs, signal)
        await session.query('SELECT 1') // No driver notices a peer that disappeared.
      }
    } finally {
      await session.close()
    }
  }

  return {
    renew: async (record, evict, signal) => {
      own = record.member
      const sentAt = systemClock.now()
      const view = await request(renewSql(group, record, evict, requestMs), signal)
      const { lost, found, fence, epoch, records } = propertiesOf(parsed(view))
      if (lost === true) throw leaseLost(name, record, typeof found === 'number' ? found : undefined)
      const stored = elementsOf(records).map((each) => each as StoredRecord) // As renew_lease has built them.
      return views.view(
        { fence: Number(fence), epoch: String(epoch), records: stored },
        { sentAt, arrivedAt: systemClock.now() },
      )
    },
    leave: async (member) => {
      await request(leaveSql(group, member, requestMs), closed.signal)
    },
    ...(clients && {
      watch: (changed: () => void, signal: AbortSignal) =>
        void keepListening(() => listen(clients, changed, signal), { changed, leaseMs, signal }),
    }),
    close: async () => {
      closed.abort(ABORTED)
      releasePool()
    },
  }
}

function errorOf(thrown: unknown, group: string): Error {
  if (thrown instanceof OptionError) return thrown
  const error = postgresError(thrown)
  const { code, cause } = error
  const hint =
    code === 'NOT_FOUND'
      ? ' (run: npx listwatch pg install-leases <url>)'
      : codeOf(cause) === '42501'
        ? ` (run: npx listwatch pg install-leases <url> --grant <role> --group ${shellWord(group)})`
        : undefined
  if (hint === undefined) return error
  return new SourceError(messageOf(cause) + hint, { code, cause }) // Without the hint for readers of a table.
}

async function borrowFrom(pool: PgPool): Promise<PgPoolClient> {
  const client = await pool.connect()
  if (hasMethods(client, 'query', 'on', 'off', 'release')) return client
  const message =
    'postgresLeases: option "pool" must be a Pool of pg 8: its connect() returned no client with release()'
  throw new OptionError(message, { option: 'pool' })
}

function parsed(view: unknown): unknown {
  if (typeof view === 'string') return JSON.parse(view)
  throw new SourceError('the response has no view: is the pool one of pg 8?', { code: 'PROTOCOL' })
}
