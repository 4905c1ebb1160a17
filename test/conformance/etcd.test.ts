import { describeListerWatcher } from '../../testing/index.js'
import { useEtcd } from '../etcd/support.js'
import { describeEtcd } from '../servers/index.js'
import { etcdHarness } from './etcd-harness.js'

describeEtcd('the etcd source', async (server) => {
  const etcd = useEtcd(server)
  await describeListerWatcher('with endpoints', etcdHarness(etcd, 'endpoints'))
  await describeListerWatcher("with the user's Etcd3", etcdHarness(etcd, 'client'))
  await describeListerWatcher('of a cluster', etcdHarness(etcd, 'cluster'))
})
