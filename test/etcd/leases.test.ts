import { expect, test } from 'vitest'
import { etcdLeases } from '../../adapters/etcd/index.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { expectReleasedMembers } from '../support/released-members.js'

const record = (renewal: number) => ({ member: 'member000001', renewal, members: [], holds: [] })

describeEtcd('leases in etcd', (server) => {
  test('a watch names a member that claims no key any more', async () => {
    await using etcd = await EtcdServer.start({ server })
    await expectReleasedMembers(etcdLeases({ endpoints: etcd.endpoint, group: 'released', leaseMs: 5_000 }))
  })

  test('a restored backup is another epoch, and the member has lost its lease', async () => {
    await using etcd = await EtcdServer.start({ server })
    const session = etcdLeases({ endpoints: etcd.endpoint, group: 'g', leaseMs: 3_000 }).open()
    const { signal } = new AbortController()
    await session.renew(record(0), [], signal)
    const backup = await etcd.backup()
    const before = await session.renew(record(1), [], signal)
    await etcd.restore(backup)
    await etcd.start()
    let error: unknown
    await waitUntil('the server to answer', async () => {
      error = await session.renew(record(2), [], signal).catch((thrown: unknown) => thrown)
      return Object(error).code !== 'UNAVAILABLE'
    })
    expect(error).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('its record has renewal 0') })
    const after = await session.renew({ ...record(0), member: 'member000002' }, [], signal)
    expect(after.epoch).not.toBe(before.epoch)
    await session.close()
  })
})
