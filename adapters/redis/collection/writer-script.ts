import { createHash } from 'node:crypto'

/**
 * Makes one atomic change of a collection, or of several ones of a database: it adds an entry to the stream, applies it
 * to the hashes, and stores the new position. Redis does not roll back a script, so everything that can fail comes
 * first. An HSET that changes nothing, and an HDEL of an absent field, check the permissions and the available memory.
 * Then the entry is added.
 *
 * KEYS: stream, meta, the hash of each collection. ARGV: the number of entries to keep; the expected id and chain
 * (empty: any; `none`: the collection must not exist); a nonce; `exact` or empty; the name of each collection of a
 * database and `/`, or empty; then `u` key value or `d` key for each change, with the name and `/` before the key. It
 * returns id and chain. Without changes nothing is written, unless the collection does not exist: then it is created from
 * the fields of the hashes. With `exact` it does not exist either if the hash has lost fields, or has foreign ones.
 *
 * The fields of an entry: `m` with the previous chain, the new chain, the nonce and the time in milliseconds; then `u`
 * and the key, with the value, or `d` and the key, with an empty value.
 */
export const WRITER_SCRIPT = `
local stream, meta, names, isAlone = KEYS[1], KEYS[2], {}, ARGV[6] == ''
for name in string.gmatch(ARGV[6], '[^/]+') do names[#names + 1] = name end
if isAlone then names[1] = '' end
local hashes, sizes, counts, fields = {}, {}, {}, { 'e', 'i', 'n' }
for i, name in ipairs(names) do
  hashes[name], fields[i + 3] = KEYS[i + 2], 'c' .. name
end

local function named(answer, key, kind)
  if type(answer) ~= 'table' or not answer.err then return nil end
  if not string.find(answer.err, 'WRONGTYPE') then return answer end
  return redis.error_reply('WRONGTYPE ' .. key .. ' is not a ' .. kind)
end

local m = redis.pcall('HMGET', meta, unpack(fields))
local refusal = named(m, meta, 'hash')
for i, name in ipairs(names) do
  local size = redis.pcall('HLEN', hashes[name])
  refusal = refusal or named(size, hashes[name], 'hash')
  sizes[name], counts[name] = size, tonumber(m[i + 3]) or not isAlone and 0 or nil
end
if refusal then return refusal end
local epoch, last, chain = m[1], m[2], m[3]
local isLost = last and chain and ARGV[5] == 'exact' and counts[''] ~= sizes['']
local ended = isLost and tonumber(epoch) or 0
if isLost or not (last and chain and counts[names[1]]) then epoch, last, chain = nil, nil, nil end
if ARGV[2] == 'none' and epoch then return redis.error_reply('CONFLICT ' .. last .. ' ' .. chain) end
if ARGV[2] ~= '' and ARGV[2] ~= 'none' and (last ~= ARGV[2] or chain ~= ARGV[3]) then
  return redis.error_reply('CONFLICT ' .. (last or 'none') .. ' ' .. (chain or 'none'))
end
if epoch and #ARGV < 7 then return { last, chain } end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function split(key)
  if isAlone then return '', key end
  return string.match(key, '^([^/]*)/(.*)$')
end

local function forbidden(deletes)
  local set = last and redis.pcall('HSET', meta, 'e', epoch) or redis.pcall('HSET', meta, 'e', '', 'no value')
  if type(set) == 'table' and not string.find(set.err, 'number of arguments') then return set end
  for hash in pairs(deletes) do
    local del = not redis.call('HMGET', hash, ARGV[4])[1] and redis.pcall('HDEL', hash, ARGV[4])
    if type(del) == 'table' then return del end
  end
end

local function begin()
  local number = math.max(now, ended + 1)
  local info = redis.pcall('XINFO', 'STREAM', stream)
  if info.err and not string.find(info.err, 'no such key') then return named(info, stream, 'stream') end
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      local newest = tonumber(string.match(info[i + 1], '^(%d+)'))
      if newest >= 9007199254740991 then
        return redis.error_reply('ERR ' .. stream .. ' has had the entry ' .. info[i + 1] ..
          ', which no redisWriter wrote, and later ids would not be exact: DEL ' .. stream)
      end
      if newest >= number then number = newest + 1 end
    end
  end
  epoch, last, chain = string.format('%.0f', number), nil, ''
  for name, size in pairs(sizes) do
    counts[name] = size
    if size > 0 then chain = 'adopted' end
  end
end

local function add()
  local fields = { 'm', '' }
  local sum = { chain, epoch, ARGV[4] }
  local i, deletes = 7, {}
  while i <= #ARGV do
    local key, value = ARGV[i + 1], ''
    fields[#fields + 1] = ARGV[i] .. key
    sum[#sum + 1] = ARGV[i] .. #key
    sum[#sum + 1] = key
    if ARGV[i] == 'u' then
      value = ARGV[i + 2]
      sum[#sum + 1] = #value
      sum[#sum + 1] = value
      i = i + 1
    else
      deletes[hashes[split(key)]] = true
    end
    fields[#fields + 1] = value
    i = i + 2
  end
  local flaw = forbidden(deletes)
  if flaw then return flaw end
  local following = string.sub(redis.sha1hex(table.concat(sum, ' ')), 1, 16)
  fields[2] = table.concat({ chain, following, ARGV[4], string.format('%.0f', now) }, ' ')
  local sequence = 0
  if last then sequence = tonumber(string.match(last, '(%d+)$')) + 1 end
  local id = epoch .. '-' .. string.format('%.0f', sequence)
  return redis.pcall('XADD', stream, 'MAXLEN', '~', ARGV[1], id, unpack(fields)), following
end

local flaw = not epoch and begin()
if flaw then return flaw end
local id, following = add()
if type(id) == 'table' and (string.find(id.err, 'equal or smaller') or string.find(id.err, 'exhausted')) then
  flaw = begin()
  if flaw then return flaw end
  id, following = add()
end
if type(id) == 'table' then return named(id, stream, 'stream') end
local i = 7
while i <= #ARGV do
  local name, key = split(ARGV[i + 1])
  if ARGV[i] == 'u' then
    counts[name] = counts[name] + redis.call('HSET', hashes[name], key, ARGV[i + 2])
    i = i + 3
  else
    counts[name] = counts[name] - redis.call('HDEL', hashes[name], key)
    i = i + 2
  end
end
local place = { 'e', epoch, 'i', id, 'n', following }
for name, count in pairs(counts) do
  place[#place + 1] = 'c' .. name
  place[#place + 1] = count
end
redis.call('HSET', meta, unpack(place))
return { id, following }
`

export const WRITER_SCRIPT_SHA: string = createHash('sha1').update(WRITER_SCRIPT).digest('hex')

/** One change for the script. Without a value it is a deletion. Strings are sent as UTF-8. */
export interface EncodedChange {
  readonly key: Buffer | string
  readonly value: Buffer | string | undefined
}

export function scriptArguments(changes: readonly EncodedChange[]): (string | Buffer)[] {
  return changes.flatMap(({ key, value }) => (value === undefined ? ['d', key] : ['u', key, value]))
}

/** The chain that the script computes for these changes. A call recognises its own entry by it. */
export function chainAfter(
  { chain, epoch }: { readonly chain: string; readonly epoch: number },
  nonce: string,
  changes: readonly EncodedChange[],
): string {
  const sum = createHash('sha1').update(`${chain} ${epoch} ${nonce}`)
  for (const { key, value } of changes) {
    sum.update(` ${value === undefined ? 'd' : 'u'}${Buffer.byteLength(key)} `).update(key)
    if (value !== undefined) sum.update(` ${Buffer.byteLength(value)} `).update(value)
  }
  return sum.digest('hex').slice(0, 16)
}
