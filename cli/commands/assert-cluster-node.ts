import type { RedisClient } from '../../adapters/redis/connection/client.js'
import { Session } from '../../adapters/redis/connection/session.js'
import { systemClock } from '../../src/contract/clock.js'
import { messageOf } from '../../src/contract/errors.js'
import { CliError } from '../output/cli-error.js'

/** How long the server may take to answer, in milliseconds. */
const TIMEOUT_MS = 10_000

/**
 * Makes sure that the server is there, and a node of a cluster: of one that is not, ioredis' Cluster says nothing but that it
 * reconnects. Whatever else is wrong, the mirror tells.
 */
export async function assertClusterNode(client: RedisClient): Promise<void> {
  const { signal } = new AbortController()
  const session = await Session.open(client, { signal, clock: systemClock, timeoutMs: TIMEOUT_MS })
  try {
    await session.command(['CLUSTER', 'SLOTS'])
  } catch (error) {
    if (/cluster support disabled/.test(messageOf(error)))
      throw new CliError('the server is no node of a cluster: leave out --cluster')
  } finally {
    session.close()
  }
}
