import { createHash } from 'node:crypto'
import { systemClock } from '../../../src/contract/clock.js'
import { OptionError, SourceError } from '../../../src/contract/errors.js'
import { LeaseLostError, type LeaseSession } from '../../../src/contract/leases.js'
import { LeaseConnection } from '../../common/lease-connection.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import { encodeBody, LeaseViews, leaseLost, type StoredRecord } from '../../common/lease-records.js'
import { unavailable } from '../../common/source-errors.js'
import { keyPrefixOf, type RedisClient, type RedisReply, repliesIn } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { redisError } from '../connection/redis-errors.js'
import { openChecked, warningsOf } from '../connection/server-checks.js'
import { type Session, type SessionOptions, textOf } from '../connection/session.js'

interface SessionSettings extends LeaseSettings {
  readonly client: RedisClient
  readonly group: string
  readonly waitForReplicas?: number
}

/** The requests of one controller to Redis. */
export function redisLeaseSession(settings: SessionSettings): LeaseSession {
  const { client, name, group, waitForReplicas, leaseMs, requestMs } = settings
  const key = `${keyPrefixOf(client)}{${group}}:leases`
  const route = new ClusterRoute(client, key)
  const warnings = warningsOf(name)
  const views = new LeaseViews(name)
  /** The member of the last request. Its own messages are ignored. */
  let own: string | undefined

  const optionsOf = (signal: AbortSignal): SessionOptions => ({ signal, clock: systemClock, timeoutMs: requestMs })
  const connection = new LeaseConnection((signal) => openChecked(route, optionsOf(signal), warnings(undefined)))

  const request = async <V>(signal: AbortSignal, work: (session: Session) => Promise<V>): Promise<V> => {
    try {
      return await connection.run(signal, work)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LeaseLostError || error instanceof OptionError) throw error
      route.noteFailure(error)
      throw redisError(error)
    }
  }

  const run = async (session: Session, { text, hash }: Script, ...args: readonly string[]): Promise<RedisReply> => {
    try {
      return await session.command(['EVALSHA', hash, 1, key, key, ...args])
    } catch (error) {
      if (!(error instanceof SourceError && error.message.startsWith('NOSCRIPT '))) throw error
      return await session.command(['EVAL', text, 1, key, key, ...args])
    }
  }

  /** A record that a failover could lose must not count: another member would not see it. */
  const assertReplicated = async (session: Session): Promise<void> => {
    if (waitForReplicas === undefined) return
    const reached = Number(textOf(await session.command(['WAIT', waitForReplicas, Math.ceil(requestMs / 2)])))
    if (reached >= waitForReplicas) return
    throw unavailable(`the record has reached ${reached} of ${waitForReplicas} replicas (option waitForReplicas)`)
  }

  /** Listens over a connection of its own, until it is lost. */
  const listen = async (changed: (released?: string) => void, signal: AbortSignal): Promise<void> => {
    const session = await route.open(optionsOf(signal))
    try {
      session.onMessage((message) => {
        const [, dash, member] = /^(-?)(.*)$/s.exec(textOf(message)) ?? []
        if (member !== own && !signal.aborted) changed(dash === '-' ? member : undefined)
      })
      await session.command(['subscribe', key])
      for (;;) {
        await systemClock.sleep(leaseMs, signal)
        await session.command(['ping']) // The driver notices no peer that disappeared.
      }
    } catch (error) {
      route.noteFailure(error)
      throw error
    } finally {
      session.close()
    }
  }

  return {
    renew: async (record, evict, signal) => {
      const { member, renewal } = record
      own = member
      const evicted = evict.flatMap((each) => [each.member, String(each.renewal)])
      const sentAt = systemClock.now()
      const replies = await request(signal, async (session) => {
        const args = [member, String(renewal), encodeBody(record), ...evicted]
        const reply = repliesIn(await run(session, RENEW_SCRIPT, ...args)).map(textOf)
        const [first, found] = reply
        if (first === 'lost') throw leaseLost(name, record, found === '' ? undefined : Number(found))
        await assertReplicated(session)
        return reply
      })
      const [fence, epoch, now, ...fields] = replies
      const view = { fence: Number(fence), epoch: String(epoch), records: storedRecords(fields, Number(now)) }
      return views.view(view, { sentAt, arrivedAt: systemClock.now() })
    },
    leave: async (member) => {
      await request(connection.signal, (session) => run(session, LEAVE_SCRIPT, member))
    },
    watch: (changed, signal) => void keepListening(() => listen(changed, signal), { changed, leaseMs, signal }),
    close: async () => connection.close(),
  }
}

/** The records of a reply: members and texts in turn. `now`: the time of the server in microseconds. */
function storedRecords(fields: readonly string[], now: number): StoredRecord[] {
  const records: StoredRecord[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [member = '', text = ''] = fields.slice(at, at + 2)
    const [, renewal, writtenAt, body] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? []
    records.push({ member, renewal: Number(renewal), body: body ?? '', ageMs: (now - Number(writtenAt)) / 1_000 })
  }
  return records
}

/**
 * Renews a lease in one atomic step. Everything that can fail comes before the first write, because Redis does not roll
 * back a script: INFO may be forbidden, and an HDEL of an absent field checks the permission to write.
 *
 * KEYS: a hash. Its field `fence` has the last fence. Every other field is a member: the renewal, the time of the write
 * in microseconds, and the body, with spaces between them. ARGV: the channel, the member, the renewal, the body; then
 * the member and the renewal of each eviction. It returns the fence, the epoch and the time, and then each member with
 * its text; or `lost` and the renewal in the store. A message in the channel is the member, after a dash if it claims
 * no key any more.
 *
 * The ids of a replication change whenever a server is started or promoted.
 */
const RENEW_SCRIPT = scriptOf(`
local leases, channel, me, renewal = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
for _, info in ipairs({ server, replication }) do
  if type(info) == 'table' then return info end
end
local run, history = string.match(server, 'run_id:(%w+)'), string.match(replication, 'master_replid:(%w+)')
if not (run and history) then return redis.error_reply('ERR INFO has no run_id or no master_replid') end
local forbidden = redis.pcall('HDEL', leases, '')
if type(forbidden) == 'table' then return forbidden end

local function renewalOf(text) return text and tonumber(string.match(text, '^%d+')) end
local old = redis.call('HGET', leases, me)
local found = renewalOf(old)
if (not found) ~= (renewal == 0) or (found and found >= renewal) then
  return { 'lost', found and string.format('%.0f', found) or '' }
end

local changed = not old or string.match(old, '^%d+ %d+ (.*)$') ~= ARGV[4]
for i = 5, #ARGV, 2 do
  if ARGV[i] ~= me and renewalOf(redis.call('HGET', leases, ARGV[i])) == tonumber(ARGV[i + 1]) then
    redis.call('HDEL', leases, ARGV[i])
    changed = true
  end
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local fence = math.max(now, tonumber(redis.call('HGET', leases, 'fence') or '0') + 1)
local nowText, fenceText = string.format('%.0f', now), string.format('%.0f', fence)
redis.call('HSET', leases, 'fence', fenceText, me, ARGV[3] .. ' ' .. nowText .. ' ' .. ARGV[4])
local hasReleased = string.find(ARGV[4], '{"members":[],', 1, true) == 1
if changed then redis.pcall('PUBLISH', channel, (hasReleased and '-' or '') .. me) end

local reply = { fenceText, run .. ':' .. history, nowText }
local all = redis.call('HGETALL', leases)
for i = 1, #all, 2 do
  if all[i] ~= 'fence' then
    reply[#reply + 1] = all[i]
    reply[#reply + 1] = all[i + 1]
  end
end
return reply
`)

/** Removes the record of a member. KEYS: the hash. ARGV: the channel and the member. */
const LEAVE_SCRIPT = scriptOf(`
if redis.call('HDEL', KEYS[1], ARGV[2]) > 0 then redis.pcall('PUBLISH', ARGV[1], '-' .. ARGV[2]) end
return 0
`)

type Script = ReturnType<typeof scriptOf>

/** `hash`: the name by which the server caches the script. */
function scriptOf(text: string) {
  return { text, hash: createHash('sha1').update(text).digest('hex') }
}
