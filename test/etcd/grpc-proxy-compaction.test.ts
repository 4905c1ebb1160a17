import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Stage } from './stage.js'

describeEtcd("a user's Etcd3 behind the grpc-proxy of etcd", (server) => {
  test('[E10] a mirror lists after a compaction although the circuit breaker of the client was open', async () => {
    await using etcd = await EtcdServer.start({ server })
    await using proxies = new AsyncDisposableStack()
    let via = proxies.use(await EtcdServer.startProxy(etcd))
    await using stage = await Stage.open({ etcd, form: 'client', via })
    await stage.fill(50)
    await stage.live()
    stage.proxy.reset()
    stage.proxy.refuse()
    await stage.put(['k1', 1])
    await stage.compact()
    const isOpen = (): boolean => stage.errors.some(({ message }) => message.includes('circuit breaker'))
    await waitUntil('the circuit breaker is open', isOpen)
    stage.proxy.pass()
    const healed = stage.healed(30_000).then(() => true)
    // The grpc-proxy may end by itself.
    while (!(await Promise.race([healed, sleep(200, false)]))) {
      if (via.isRunning) continue
      via = proxies.use(await EtcdServer.startProxy(etcd))
      stage.proxy.retarget(via.port)
    }
  })
})
