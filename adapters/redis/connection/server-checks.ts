import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../shared/source-errors.js'
import type { RedisReply } from './client.js'
import { isNotAllowed } from './redis-errors.js'
import { type RedisCommand, type Session, textOf } from './session.js'

const OLDEST = 7

export type Warn = (message: string) => void

/** The warnings of a source or a writer, each of them once, and not again by every connection. */
export class Warnings {
  readonly #of: string
  readonly #given = new Set<string>()

  constructor(of: string) {
    this.#of = of
  }

  /** Passes warnings to an informer; without one they are process warnings. */
  through(warn: Warn | undefined): Warn {
    return (message) => {
      if (this.#given.has(message)) return
      this.#given.add(message)
      if (warn !== undefined) warn(message)
      else process.emitWarning(`${this.#of}: ${message}`, { type: 'ListwatchWarning', code: 'UNCHECKED' })
    }
  }
}

/**
 * Whether this is a server that a mirror can be true to: a master, of Redis 7 or Valkey, that forgets nothing by itself, unless it tells of it (`mayEvict`). What the user
 * may not ask is not known, and told once.
 */
export async function checkServer(
  session: Session,
  warn: Warn,
  { mayEvict = false }: { readonly mayEvict?: boolean } = {},
): Promise<void> {
  const [, server, memory] = await Promise.all([
    checkRole(session, warn),
    ask(session, warn, 'INFO', 'server'),
    mayEvict ? undefined : ask(session, warn, 'INFO', 'memory'),
  ])
  if (server !== undefined) checkVersion(textOf(server), session.address)
  if (memory !== undefined) checkEviction(textOf(memory), session.address)
}

/**
 * Whether it is a master still. One that is told to be a replica only cuts off who is waiting just then; anybody else it goes on
 * answering, with what it has.
 */
export async function checkRole(session: Session, warn: Warn): Promise<void> {
  const reply = await ask(session, warn, 'ROLE')
  const [role] = Array.isArray(reply) ? (reply as readonly RedisReply[]) : []
  if (reply === undefined || textOf(role) === 'master') return
  throw unavailable(
    `${session.address} is a replica, which may be behind: give the address of the master, or of the Sentinels`,
  )
}

async function ask(session: Session, warn: Warn, ...command: RedisCommand): Promise<RedisReply | undefined> {
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
  ROLE: 'nobody knows whether this is the master',
  INFO: 'nobody knows whether this server evicts keys',
}

function checkVersion(info: string, address: string): void {
  const version = /^redis_version:(\d+)[.\d]*/m.exec(info)
  if (version === null || Number(version[1]) >= OLDEST) return
  const found = version[0].slice('redis_version:'.length)
  throw new SourceError(`${address} is Redis ${found}: a mirror needs ${OLDEST}.0 or later`, { code: 'PROTOCOL' })
}

function checkEviction(info: string, address: string): void {
  const [, policy = ''] = /^maxmemory_policy:(\S+)/m.exec(info) ?? []
  if (!policy.startsWith('allkeys-')) return
  throw new SourceError(
    `${address} evicts any key when memory is short (maxmemory-policy ${policy}), a part of the collection among them: CONFIG SET maxmemory-policy noeviction`,
    { code: 'PROTOCOL' },
  )
}
