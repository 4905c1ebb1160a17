import type { Redis } from 'ioredis'
import { messageOf } from '../../src/contract/errors.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { addressOf, checkForm, openRedis, redisAclHint } from '../sources/open-redis.js'
import type { OpenSource, SourceOptions } from '../sources/source-types.js'
import { type Check, type Diagnose, errorCheck, runChecks, undecodableCheck, warningCheck } from './check.js'

const TIMEOUT_MS = 10_000
const FULL = 0.9
const SMALL_BUFFER_BYTES = 8 * 1024 ** 2
const SLOTS = 16_384

interface RedisContext {
  open(): Promise<OpenSource>
  readonly flags: SourceOptions
  readonly user: string
  /** The key that is read: of the collection's log, the stream, or the prefix of plain keys. */
  readonly name: string
  send(...command: readonly [string, ...string[]]): Promise<unknown>
  /** Returns a field of INFO; undefined if the server has none. */
  info(field: string): Promise<string | undefined>
  setting(name: string): Promise<string | undefined>
}

export const diagnoseRedis: Diagnose<SourceOptions> = async (url, flags, onProgress) => {
  const name = checkForm(flags)
  const { shown, ...address } = addressOf(url)
  const { Redis } = await loadPackage('ioredis', () => import('ioredis'))
  const client: Redis = new Redis({
    ...address,
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
  })
  let cause: unknown
  client.on('error', (error) => {
    cause ??= error
  })
  try {
    await client.connect()
    await client.call('PING').catch((error: unknown) => {
      if (!/^NOPERM/.test(messageOf(error))) throw error // The check `rights` reports that.
    })
    const context = {
      ...contextOf(client, flags, address.username ?? 'default', name),
      open: () => openRedis(url, flags),
    }
    return await runChecks(redisChecks, context, { onProgress })
  } catch (error) {
    const line = oneLine(cause ?? error)
    const hint = /NOAUTH|WRONGPASS/.test(line)
      ? '; give user and password in the URL: redis://user:password@host:6379'
      : ''
    throw new CliError(`cannot connect to ${shown}: ${line}${hint}`)
  } finally {
    client.disconnect()
  }
}

function contextOf(client: Redis, flags: SourceOptions, user: string, name: string): Omit<RedisContext, 'open'> {
  const send = (...[command, ...args]: readonly [string, ...string[]]): Promise<unknown> =>
    client.call(command, ...args)
  let facts: Promise<string> | undefined
  return {
    flags,
    user,
    name,
    send,
    info: async (field) => {
      facts ??= send('INFO', 'everything').then(String)
      return new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await facts)?.[1]
    },
    setting: async (wanted) => {
      const reply: unknown = await send('CONFIG', 'GET', wanted)
      return Array.isArray(reply) ? reply.map(String)[1] : undefined
    },
  }
}

export const redisChecks: readonly Check<RedisContext>[] = [
  errorCheck('replica', async ({ info }) => {
    if ((await info('role')) !== 'slave') return undefined
    const master = `${await info('master_host')}:${await info('master_port')}`
    return {
      problem: 'the server is a replica, which may be behind and loses its place in the history when it is promoted',
      remedy: `use the address of the master: redis://${master}`,
    }
  }),
  errorCheck('rights', async ({ flags, user, name, send }) => {
    const refused: string[] = []
    for (const command of commandsOf(flags, name)) {
      await send(...command).catch((error: unknown) => {
        if (/^NOPERM/.test(messageOf(error))) refused.push(command[0])
      })
    }
    if (refused.length === 0) return undefined
    return {
      problem: `the user ${user} may not use ${[...new Set(refused)].join(', ')} on what is mirrored`,
      remedy: `run: ${redisAclHint(flags, user)}`,
    }
  }),
  errorCheck('type', async ({ flags, name, send }) => {
    if (flags.keys !== undefined) return undefined
    const key = flags.stream === undefined ? `{${name}}:s` : name
    const type = await typeOf(send, key)
    if (type === 'stream' || type === 'none') return undefined
    return {
      problem: `the key ${key} is a ${type} instead of a stream`,
      remedy: 'check the name and the database at the end of the URL',
    }
  }),
  errorCheck('trimmed-stream', async ({ flags, send }) => {
    if (flags.stream === undefined || flags.fold === true || (await typeOf(send, flags.stream)) !== 'stream')
      return undefined
    const facts: unknown = await send('XINFO', 'STREAM', flags.stream)
    const values = Array.isArray(facts) ? facts.map(String) : []
    const numberOf = (field: string): number => Number(values[values.indexOf(field) + 1])
    const missing = numberOf('entries-added') - numberOf('length')
    if (!(missing > 0)) return undefined
    return {
      problem: `${missing} entries of the stream were trimmed or deleted, so its first objects are not known`,
      remedy: 'add --fold if the newest entry of each key always remains, or write the stream without MAXLEN',
    }
  }),
  errorCheck('eviction', async ({ info }) => {
    const policy = (await info('maxmemory_policy')) ?? 'noeviction'
    if (policy === 'noeviction' || (await info('maxmemory')) === '0') return undefined
    return {
      problem: `the server evicts keys when memory is short (maxmemory-policy ${policy}), also those that are mirrored`,
      remedy: 'run: CONFIG SET maxmemory-policy noeviction',
    }
  }),
  warningCheck('memory', async ({ info }) => {
    const [used, most] = [Number(await info('used_memory')), Number(await info('maxmemory'))]
    if (!(most > 0) || used / most <= FULL) return undefined
    return {
      problem: `${Math.round((used / most) * 100)} % of maxmemory is used: writers are refused, or keys are evicted, when it is full`,
      remedy: 'run: CONFIG SET maxmemory with more bytes, or delete keys',
    }
  }),
  warningCheck('persistence', async ({ info, setting }) => {
    if ((await info('aof_enabled')) === '1' || (await setting('save')) !== '') return undefined
    return {
      problem: 'nothing is written to disk, so a restart of the server loses all objects and the history',
      remedy: 'run: CONFIG SET appendonly yes',
    }
  }),
  errorCheck('failed-save', async ({ info }) => {
    const failed = ['rdb_last_bgsave_status', 'aof_last_bgrewrite_status', 'aof_last_write_status']
    const bad: string[] = []
    for (const field of failed) if ((await info(field)) === 'err') bad.push(field)
    if (bad.length === 0) return undefined
    return {
      problem: `the server could not write to disk (${bad.join(', ')}), and may refuse writes`,
      remedy: 'see the log of the server: the disk is full, or the folder is not writable',
    }
  }),
  warningCheck('output-buffer', async ({ flags, setting }) => {
    const limits = (await setting('client-output-buffer-limit')) ?? ''
    const kind = flags.keys === undefined ? 'normal' : 'pubsub'
    const hard = Number(new RegExp(`${kind} (\\d+)`).exec(limits)?.[1] ?? 0)
    if (hard === 0 || hard >= SMALL_BUFFER_BYTES) return undefined
    return {
      problem: `the server closes a connection with ${hard} bytes of unread replies, so a list or a burst of changes ends it`,
      remedy: `run: CONFIG SET client-output-buffer-limit "${kind} 33554432 33554432 60"`,
    }
  }),
  errorCheck('cluster-mode', async ({ flags, info }) => {
    const isCluster = (await info('cluster_enabled')) === '1'
    if (isCluster === (flags.cluster === true)) return undefined
    return isCluster
      ? { problem: 'the server is a node of a cluster', remedy: 'add --cluster' }
      : { problem: 'the server is not a node of a cluster', remedy: 'leave out --cluster' }
  }),
  errorCheck('cluster-slots', async ({ info, send }) => {
    if ((await info('cluster_enabled')) !== '1') return undefined
    const facts = String(await send('CLUSTER', 'INFO'))
    const covered = Number(/^cluster_slots_ok:(\d+)/m.exec(facts)?.[1])
    if (covered === SLOTS) return undefined
    return {
      problem: `only ${covered} of ${SLOTS} hash slots of the cluster are served`,
      remedy: 'run: redis-cli --cluster fix host:port',
    }
  }),
  warningCheck('connections', async ({ info }) => {
    const [used, most] = [Number(await info('connected_clients')), Number(await info('maxclients'))]
    if (!(most > 0) || used / most <= FULL) return undefined
    return {
      problem: `${used} of ${most} connections are used, and a mirror needs two`,
      remedy: 'run: CONFIG SET maxclients with a larger number, or close idle connections',
    }
  }),
  undecodableCheck(),
]

/** The type of a key; `none` if another node of the cluster has its slot. */
async function typeOf(send: RedisContext['send'], key: string): Promise<string> {
  try {
    return String(await send('TYPE', key))
  } catch (error) {
    if (/^(MOVED|CLUSTERDOWN|ASK)/.test(messageOf(error))) return 'none'
    throw error
  }
}

/** The commands of a mirror, each with arguments that read as little as possible. */
function commandsOf({ stream, keys }: SourceOptions, name: string): readonly (readonly [string, ...string[]])[] {
  const always = [['ROLE'], ['INFO', 'server']] as const
  if (keys !== undefined) {
    const key = keys.slice(0, -1)
    return [...always, ['SCAN', '0', 'MATCH', keys, 'COUNT', '1'], ['MGET', key], ['CLIENT', 'ID'], ['PING']]
  }
  if (stream !== undefined)
    return [...always, ['XRANGE', stream, '-', '+', 'COUNT', '1'], ['XREAD', 'COUNT', '1', 'STREAMS', stream, '0']]
  const [hash, log, meta] = [`{${name}}:h`, `{${name}}:s`, `{${name}}:m`]
  return [
    ...always,
    ['TIME'],
    ['HSCAN', hash, '0', 'COUNT', '1'],
    ['HLEN', hash],
    ['HMGET', meta, 'id'],
    ['XREVRANGE', log, '+', '-', 'COUNT', '1'],
    ['XREAD', 'COUNT', '1', 'STREAMS', log, '0'],
  ]
}
