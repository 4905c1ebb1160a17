import type { NodeConnectionOptions } from '@nats-io/transport-node'
import type { FoundServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'
import { startForTests } from '../support/start-for-tests.js'

/** One nats-server for the tests of a file or a group, started before the first and gone after the last. */
export function useNats(
  server: FoundServer,
  config = '',
  login: Partial<NodeConnectionOptions> = {},
): { readonly nats: NatsServer } {
  const started = startForTests(() => NatsServer.start({ server, config, login }))
  return {
    get nats() {
      return started()
    },
  }
}
