import { afterAll, beforeAll } from 'vitest'
import type { FoundServer } from '../servers/index.js'
import { RedisServer, type RedisServerOptions } from '../servers/redis.js'

/** One Redis for the tests of a file or a group, started before the first and gone after the last. */
export function useRedis(
  server: FoundServer,
  options: Omit<RedisServerOptions, 'server'> = {},
): { readonly redis: RedisServer } {
  let started: RedisServer | undefined
  beforeAll(async () => {
    started = await RedisServer.start({ ...options, server })
  })
  afterAll(async () => {
    await started?.[Symbol.asyncDispose]()
  })
  return {
    get redis() {
      if (started === undefined) throw new Error('the server is not up yet')
      return started
    },
  }
}
