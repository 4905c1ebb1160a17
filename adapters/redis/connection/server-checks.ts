import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../common/source-errors.js'
import { type RedisReply, repliesIn } from './client.js'
import type { ClusterRoute } from './cluster-route.js'
import { isNotAllowed } from './redis-errors.js'
import { type RedisCommand, type Session, type SessionOptions, textOf } from './session.js'

const OLDEST_MAJOR = 7

export type Warn = (message: string) => void

/** Returns a function that emits warnings to the informer's `warn`, or as process warnings if it is undefined. */
export type Warnings = (warn: Warn | undefined) => Warn

/** Emits each warning of a source or a writer once, instead of once per connection. */
export function warningsOf(of: string): Warnings {
  const emitted = new Set<string>()
  return (warn) => (message) => {
    if (emitted.has(message)) return
    emitted.add(message)
    if (warn !== undefined) warn(message)
    else process.emitWarning(`${of}: ${message}`, { type: 'ListwatchWarning', code: 'UNCHECKED' })
  }
}

/**
 * Opens a session to a master of Redis 7 or later, or Valkey, that does not evict keys (unless `mayEvict`). If the user
 * has no permission for a check, it is skipped with one warning.
 */
export async function openChecked(
  route: ClusterRoute,
  options: SessionOptions,
  warn: Warn,
  mayEvict = false,
): Promise<Session> {
  const session = await route.open(options)
  try {
    const [, server, memory] = await Promise.all([
      checkRole(session, warn),
      query(session, warn, 'INFO', 'server'),
      mayEvict ? undefined : query(session, warn, 'INFO', 'memory'),
    ])
    if (server !== undefined) checkVersion(textOf(server), session.address)
    if (memory !== undefined) checkEviction(textOf(memory), session.address)
    return session
  } catch (error) {
    session.close()
    throw error
  }
}

/** A master that becomes a replica continues to serve old data, except to blocked clients. */
export async function checkRole(session: Session, warn: Warn): Promise<void> {
  const reply = await query(session, warn, 'ROLE')
  const [role] = repliesIn(reply)
  if (reply === undefined || textOf(role) === 'master') return
  throw unavailable(
    `${session.address} is a replica, which may be behind: use the address of the master, or of the Sentinels`,
  )
}

async function query(session: Session, warn: Warn, ...command: RedisCommand): Promise<RedisReply | undefined> {
  try {
    return await session.command(command)
  } catch (error) {
    if (!isNotAllowed(error)) throw error
    warn(
      `${command[0]} is not allowed, so ${consequences[command[0]]}; allow it: ACL SETUSER <user> +${command[0].toLowerCase()}`,
    )
    return undefined
  }
}

const consequences: Readonly<Record<string, string>> = {
  ROLE: 'it is unknown whether this is the master',
  INFO: 'it is unknown whether this server evicts keys',
}

function checkVersion(info: string, address: string): void {
  const version = /^redis_version:(\d+)[.\d]*/m.exec(info)
  if (version === null || Number(version[1]) >= OLDEST_MAJOR) return
  const found = version[0].slice('redis_version:'.length)
  throw new SourceError(`${address} is Redis ${found}: a mirror needs ${OLDEST_MAJOR}.0 or later`, { code: 'PROTOCOL' })
}

function checkEviction(info: string, address: string): void {
  const [, policy = ''] = /^maxmemory_policy:(\S+)/m.exec(info) ?? []
  if (!policy.startsWith('allkeys-')) return
  throw new SourceError(
    `${address} evicts any key when memory is short (maxmemory-policy ${policy}), also keys of the collection: CONFIG SET maxmemory-policy noeviction`,
    { code: 'PROTOCOL' },
  )
}
