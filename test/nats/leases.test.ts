import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { natsLeases } from '../../adapters/nats/index.js'
import type { LeaseRecord, LeaseView } from '../../src/adapter.js'
import { describeServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'
import { waitUntil } from '../servers/wait-until.js'
import { expectReleasedMembers } from '../support/released-members.js'
import { backupOf, restore } from './backups.js'
import { useNats } from './support.js'

const STREAM = 'KV_listwatch-leases'
const { signal } = new AbortController()

function record(renewal: number, member = 'member000001', holds: readonly string[] = []): LeaseRecord {
  return { member, renewal, members: [], holds }
}

/** The result of a request, which is repeated while the server does not respond. */
async function answered(request: () => Promise<LeaseView>): Promise<LeaseView> {
  for (;;) {
    try {
      return await request()
    } catch (error) {
      if (Object(error).code !== 'UNAVAILABLE') throw error
      await sleep(50)
    }
  }
}

describeServer('nats 2.15', 'leases in NATS', (server) => {
  const own = useNats(server)

  test('a watch names a member that claims no key any more', async () => {
    await expectReleasedMembers(natsLeases({ client: await own.nats.connect(), group: 'released', leaseMs: 5_000 }))
  })

  test('[J10] a bucket that is removed is another epoch, fences still grow, and the member has lost its lease', async () => {
    const leases = natsLeases({ client: await own.nats.connect(), group: 'g', bucket: 'removed', leaseMs: 3_000 })
    const [session, other] = [leases.open(), leases.open()]
    await session.renew(record(0), [], signal)
    const before = await session.renew(record(1), [], signal)
    await own.nats.ask('STREAM.DELETE.KV_removed')
    await expect(session.renew(record(2), [], signal)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    const after = await other.renew(record(0, 'member000002'), [], signal)
    expect(after.epoch).not.toBe(before.epoch)
    expect(after.fence).toBeGreaterThan(before.fence)
    await Promise.all([session.close(), other.close()])
  })

  test('a key that is deleted by hand is another epoch', async () => {
    const session = natsLeases({ client: await own.nats.connect(), group: 'deleted', leaseMs: 3_000 }).open()
    const before = await session.renew(record(0), [], signal)
    await own.nats.ask(`STREAM.PURGE.${STREAM}`, { filter: '$KV.listwatch-leases.deleted' })
    await expect(session.renew(record(1), [], signal)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    const after = await session.renew(record(0, 'member000002'), [], signal)
    expect(after.epoch).not.toBe(before.epoch)
    expect(after.fence).toBeGreaterThan(before.fence)
    await session.close()
  })

  test('a value that is not readable is an error that names the key', async () => {
    const connection = await own.nats.connect()
    const session = natsLeases({ client: connection, group: 'a/b', leaseMs: 3_000 }).open()
    await session.renew(record(0), [], signal)
    connection.publish('$KV.listwatch-leases.a=2fb', '{}')
    await connection.flush()
    await waitUntil('the value', async () => {
      const error = await session.renew(record(1), [], signal).catch((thrown: unknown) => thrown)
      return Object(error).code === 'PROTOCOL'
    })
    await expect(session.renew(record(2), [], signal)).rejects.toThrow(
      'the leases in the key "a=2fb" of the bucket "listwatch-leases" are not readable: remove the key by hand',
    )
    await session.close()
  })

  test('records that exceed the maximum payload of the server are an error that says so', async () => {
    const session = natsLeases({ client: await own.nats.connect(), group: 'large', leaseMs: 3_000 }).open()
    await session.renew(record(0), [], signal)
    const holds = ['x'.repeat(9 * 1024 * 1024)]
    await expect(session.renew(record(1, 'member000001', holds), [], signal)).rejects.toThrow('max_payload')
    await session.renew(record(2), [], signal)
    await session.close()
  })

  test('a renewal that is abandoned while the server is stopped writes nothing later', async () => {
    await using nats = await NatsServer.start({ server })
    const leases = natsLeases({ client: await nats.connect({ pingInterval: 60_000 }), group: 'g', leaseMs: 5_000 })
    const [a, b] = [leases.open(), leases.open()]
    await a.renew(record(0), [], signal)
    await b.renew(record(0, 'member000002'), [], signal)
    nats.signal('SIGSTOP')
    await expect(a.renew(record(1), [], AbortSignal.timeout(300))).rejects.toThrow()
    nats.signal('SIGCONT')
    const { records } = await b.renew(record(1, 'member000002'), [], signal)
    expect(records.find(({ member }) => member === 'member000001')?.renewal).toBe(0)
    await a.renew(record(2), [], signal)
    await Promise.all([a.close(), b.close()])
  })
})

describeServer('nats 2.15', 'leases of an older state of the bucket', (server) => {
  /** What the old state has: the first record of member 1, and of member 2. */
  async function restored(putBack: (nats: NatsServer, save: 'save' | 'put back') => Promise<void>, writesBefore = 0) {
    await using nats = await NatsServer.start({ server })
    const leases = natsLeases({ client: await nats.connect(), group: 'g', leaseMs: 5_000 })
    const [a, b, late] = [leases.open(), leases.open(), leases.open()]
    await a.renew(record(0), [], signal)
    await b.renew(record(0, 'member000002'), [], signal)
    await putBack(nats, 'save')
    await answered(() => late.renew(record(0, 'member000003'), [], signal))
    const before = await answered(() => a.renew(record(1), [], signal))
    await putBack(nats, 'put back')
    const newcomer = leases.open()
    for (let renewal = 0; renewal < writesBefore; renewal++)
      await answered(() => newcomer.renew(record(renewal, 'member000004'), [], signal))
    const error = await answered(() => a.renew(record(2), [], signal)).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('its record has renewal 0') })
    // A member that has not noticed it gets the new epoch from the bucket.
    const after = await answered(() => b.renew(record(1, 'member000002'), [], signal))
    expect(after.epoch).not.toBe(before.epoch)
    expect(after.fence).toBeGreaterThan(before.fence)
    await expect(answered(() => late.renew(record(1, 'member000003'), [], signal))).rejects.toMatchObject({
      code: 'LEASE_LOST',
    })
    await Promise.all([a, b, late, newcomer].map((each) => each.close()))
  }

  test('[J10] a data folder that is put back is another epoch for all members', async () => {
    await restored(async (nats, what) => {
      const [data, saved] = [join(nats.folder, 'data'), join(nats.folder, 'saved')]
      await nats.stop()
      const [from, to] = what === 'save' ? [data, saved] : [saved, data]
      await rm(to, { recursive: true, force: true })
      await cp(from, to, { recursive: true })
      await nats.start()
    })
  })

  test.each([
    ['', 0],
    [', also after a new member has written to it', 20],
  ])('[J10] a stream that is restored from a backup is another epoch for members%s', async (_also, writesBefore) => {
    let backup: Awaited<ReturnType<typeof backupOf>> | undefined
    await restored(async (nats, what) => {
      const admin = await nats.connect()
      if (what === 'save') backup = await backupOf(admin, STREAM)
      else if (backup !== undefined) {
        await nats.ask(`STREAM.DELETE.${STREAM}`)
        await restore(admin, STREAM, backup)
      }
    }, writesBefore)
  })
})

describe('the rights of leases in NATS', () => {
  describeServer('nats 2.15', 'a user with the rights of docs/reference/nats.md', (server) => {
    test('renews, and receives hints of changes', async () => {
      const rights = (...subjects: string[]): string => subjects.map((each) => `"${each}"`).join(', ')
      const publish = rights(
        '$JS.API.STREAM.CREATE.KV_listwatch-leases',
        '$JS.API.STREAM.MSG.GET.KV_listwatch-leases',
        '$KV.listwatch-leases.>',
        'listwatch.leases.listwatch-leases.>',
      )
      const subscribe = rights('_INBOX.>', 'listwatch.leases.listwatch-leases.>')
      const permissions = `permissions: { publish: [${publish}], subscribe: [${subscribe}] }`
      const config = `authorization { users: [{ user: "u", password: "p", ${permissions} }] }`
      await using nats = await NatsServer.start({ server, config, login: { user: 'u', pass: 'p' } })
      await expectReleasedMembers(natsLeases({ client: await nats.connect(), group: 'g', leaseMs: 5_000 }))
    })

    test('[J7] that may not receive hints renews without them', async () => {
      const config = `authorization { users: [{ user: "u", password: "p", permissions: { subscribe: ["_INBOX.>"] } }] }`
      await using nats = await NatsServer.start({ server, config, login: { user: 'u', pass: 'p' } })
      const connection = await nats.connect()
      const session = natsLeases({ client: connection, group: 'g', leaseMs: 5_000 }).open()
      const end = new AbortController()
      session.watch?.(() => {}, end.signal)
      for (const renewal of [0, 1, 2]) {
        const view = await session.renew(record(renewal), [], signal)
        expect(view.records).toMatchObject([{ renewal }])
        await connection.flush() // The server has answered the subscription.
      }
      end.abort()
      await session.close()
    })

    test('that lacks the right to write gets UNAUTHORIZED', async () => {
      const config = `authorization { users: [{ user: "u", password: "p", permissions: { publish: ["$JS.API.>"] } }] }`
      await using nats = await NatsServer.start({ server, config, login: { user: 'u', pass: 'p' } })
      const session = natsLeases({ client: await nats.connect(), group: 'g', leaseMs: 5_000 }).open()
      await expect(session.renew(record(0), [], signal)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
      await session.close()
    })
  })
})
