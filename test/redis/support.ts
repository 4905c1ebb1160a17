import type { FoundServer } from '../servers/index.js'
import { RedisServer, type RedisServerOptions } from '../servers/redis.js'
import { startForTests } from '../support/start-for-tests.js'

/** One Redis for the tests of a file or a group, started before the first and gone after the last. */
export function useRedis(
  server: FoundServer,
  options: Omit<RedisServerOptions, 'server'> = {},
): { readonly redis: RedisServer } {
  const started = startForTests(() => RedisServer.start({ ...options, server }))
  return {
    get redis() {
      return started()
    },
  }
}
