import type { RedisClient } from '../../adapters/redis/index.js'
import { Session } from '../../adapters/redis/internal.js'
import { systemClock } from '../../src/contract/clock.js'
import { messageOf } from '../../src/contract/errors.js'
import { CliError } from '../output/cli-error.js'

/** How long the server may take to answer, in milliseconds. */
const TIMEOUT_MS = 10_000

/**
 * Throws unless the server responds and is a node of a cluster. Otherwise ioredis' Cluster only reconnects, without an
 * error. The mirror reports all other problems.
 */
export async function assertClusterNode(client: RedisClient): Promise<void> {
  const { signal } = new AbortController()
  const session = await Session.open(client, { signal, clock: systemClock, timeoutMs: TIMEOUT_MS })
  try {
    await session.command(['CLUSTER', 'SLOTS'])
  } catch (error) {
    if (/cluster support disabled/.test(messageOf(error)))
      throw new CliError('the server is not a node of a cluster: leave out --cluster')
  } finally {
    session.close()
  }
}
