import { describeListerWatcher } from '../../testing/index.js'
import { useNats } from '../nats/support.js'
import { describeServer } from '../servers/index.js'
import { natsHarness } from './nats-harness.js'

describeServer('nats 2.15', 'the source of a NATS bucket', async (server) => {
  const nats = useNats(server)
  await describeListerWatcher('with one revision of each key', natsHarness(nats, 1))
  await describeListerWatcher('with a history of 5', natsHarness(nats, 5))
})
