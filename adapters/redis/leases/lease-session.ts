import { createHash } from 'node:crypto'
import { systemClock } from '../../../src/contract/clock.js'
import { OptionError, SourceError } from '../../../src/contract/errors.js'
import {
  type Eviction,
  LeaseLostError,
  type LeaseRecord,
  type LeaseSession,
  type LeaseView,
} from '../../../src/contract/leases.js'
import { LeaseConnection } from '../../common/lease-connection.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import { encodeBody, LeaseViews, leaseLost, type StoredRecord } from '../../common/lease-records.js'
import { unavailable } from '../../common/source-errors.js'
import { keyPrefixOf, type RedisClient, type RedisReply, repliesIn } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { redisError } from '../connection/redis-errors.js'
import { checkServer, type Warnings, warningsOf } from '../connection/server-checks.js'
import { type Session, textOf } from '../connection/session.js'

interface SessionSettings extends LeaseSettings {
  readonly client: RedisClient
  readonly group: string
  readonly waitForReplicas?: number
}

export class RedisLeaseSession implements LeaseSession {
  readonly #settings: SessionSettings
  readonly #key: string
  readonly #route: ClusterRoute
  readonly #warnings: Warnings
  readonly #connection: LeaseConnection<Session>
  readonly #views: LeaseViews
  /** The member of the last request. Its own messages are ignored. */
  #member: string | undefined

  constructor(settings: SessionSettings) {
    this.#settings = settings
    this.#key = `${keyPrefixOf(settings.client)}{${settings.group}}:leases`
    this.#route = new ClusterRoute(settings.client, this.#key)
    this.#warnings = warningsOf(settings.name)
    this.#connection = new LeaseConnection((signal) => this.#connect(signal))
    this.#views = new LeaseViews(settings.name)
  }

  async renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView> {
    const { member, renewal } = record
    this.#member = member
    const evicted = evict.flatMap((each) => [each.member, String(each.renewal)])
    const sentAt = systemClock.now()
    const reply = await this.#request(signal, async (session) => {
      const args = [this.#key, member, String(renewal), encodeBody(record), ...evicted]
      const replies = repliesIn(await this.#run(session, RENEW_SCRIPT, args))
      this.#assertNotLost(record, replies)
      await this.#assertReplicated(session)
      return replies
    })
    const [fence, epoch, now, ...fields] = reply.map(textOf)
    const records = storedRecords(fields, Number(now))
    const view = { fence: Number(fence), epoch: String(epoch), records }
    return this.#views.view(view, { sentAt, arrivedAt: systemClock.now() })
  }

  async leave(member: string): Promise<void> {
    await this.#request(this.#connection.signal, (session) => this.#run(session, LEAVE_SCRIPT, [this.#key, member]))
  }

  watch(changed: (released?: string) => void, signal: AbortSignal): void {
    void keepListening(() => this.#listen(changed, signal), { changed, leaseMs: this.#settings.leaseMs, signal })
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  async #connect(signal: AbortSignal): Promise<Session> {
    const session = await this.#route.open({ signal, clock: systemClock, timeoutMs: this.#settings.requestMs })
    try {
      await checkServer(session, this.#warnings(undefined))
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }

  async #request<V>(signal: AbortSignal, work: (session: Session) => Promise<V>): Promise<V> {
    try {
      return await this.#connection.run(signal, work)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LeaseLostError || error instanceof OptionError) throw error
      this.#route.noteFailure(error)
      throw redisError(error)
    }
  }

  async #run(session: Session, { text, hash }: Script, args: readonly string[]): Promise<RedisReply> {
    try {
      return await session.command(['EVALSHA', hash, 1, this.#key, ...args])
    } catch (error) {
      if (!(error instanceof SourceError && error.message.startsWith('NOSCRIPT '))) throw error
      return await session.command(['EVAL', text, 1, this.#key, ...args])
    }
  }

  #assertNotLost(record: LeaseRecord, [first, found]: readonly RedisReply[]): void {
    if (textOf(first) !== 'lost') return
    const renewal = textOf(found)
    throw leaseLost(this.#settings.name, record, renewal === '' ? undefined : Number(renewal))
  }

  /** A record that a failover could lose must not count: another member would not see it. */
  async #assertReplicated(session: Session): Promise<void> {
    const { waitForReplicas, requestMs } = this.#settings
    if (waitForReplicas === undefined) return
    const reached = Number(textOf(await session.command(['WAIT', waitForReplicas, Math.ceil(requestMs / 2)])))
    if (reached >= waitForReplicas) return
    throw unavailable(`the record has reached ${reached} of ${waitForReplicas} replicas (option waitForReplicas)`)
  }

  /** Listens over a connection of its own, until it is lost. */
  async #listen(changed: (released?: string) => void, signal: AbortSignal): Promise<void> {
    const { requestMs, leaseMs } = this.#settings
    const session = await this.#route.open({ signal, clock: systemClock, timeoutMs: requestMs })
    try {
      session.onMessage((message) => {
        const [, dash, member] = /^(-?)(.*)$/s.exec(textOf(message)) ?? []
        if (member !== this.#member && !signal.aborted) changed(dash === '-' ? member : undefined)
      })
      await session.command(['subscribe', this.#key])
      for (;;) {
        await systemClock.sleep(leaseMs, signal)
        await session.command(['ping']) // The driver notices no peer that disappeared.
      }
    } catch (error) {
      this.#route.noteFailure(error)
      throw error
    } finally {
      session.close()
    }
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
