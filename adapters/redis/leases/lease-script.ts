import { createHash } from 'node:crypto'

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
export const RENEW_SCRIPT = `
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
`

/** Removes the record of a member. KEYS: the hash. ARGV: the channel and the member. */
export const LEAVE_SCRIPT = `
if redis.call('HDEL', KEYS[1], ARGV[2]) > 0 then redis.pcall('PUBLISH', ARGV[1], '-' .. ARGV[2]) end
return 0
`

const hashes = new Map(
  [RENEW_SCRIPT, LEAVE_SCRIPT].map((script) => [script, createHash('sha1').update(script).digest('hex')]),
)

/** The name by which the server caches a script. */
export function hashOf(script: string): string {
  return hashes.get(script) ?? ''
}
