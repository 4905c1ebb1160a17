import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect as connectTo, type NatsConnection, usernamePasswordAuthenticator } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { natsKvSource } from '../../adapters/nats/index.js'
import { describeServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'
import { failure } from '../support/failure.js'
import { followRotations } from '../support/load.js'
import { refusal } from '../support/source-calls.js'
import { Stage } from './stage.js'

const LOGIN = { user: 'admin', pass: 'a' }
const RETRIED = { maxReconnectAttempts: -1, reconnectTimeWait: 50, ignoreAuthErrorAbort: true }

/** The user `mirror` may do what these lines say. */
const users = (permissions: string): string => `
authorization {
  users: [
    { user: admin, password: a }
    ${permissions}
  ]
}`
const mirrorUser = (denied = ''): string =>
  `{ user: mirror, password: m, permissions: { publish: { allow: ["$JS.API.>"], deny: [${denied}] }, subscribe: ">" } }`

describeServer('nats 2.15', 'a user of the server', (server) => {
  const started = (config: string): Promise<NatsServer> => NatsServer.start({ server, config, login: LOGIN })

  /** The server reads its configuration again. */
  const reload = async (nats: NatsServer, config: string): Promise<void> => {
    await writeFile(join(nats.folder, 'nats.conf'), nats.configWith(config))
    nats.signal('SIGHUP')
  }

  const withMirror = async (config: string, act: (stage: Stage, nats: NatsServer) => Promise<void>): Promise<void> => {
    await using nats = await started(config)
    const connect = (): Promise<NatsConnection> => nats.connect({ ...RETRIED, user: 'mirror', pass: 'm' })
    await Stage.with({ nats, connect }, (stage) => act(stage, nats))
  }

  test.each([
    ['to read the stream', '"$JS.API.STREAM.INFO.>"'],
    ['to create consumers', '"$JS.API.CONSUMER.CREATE.>"'],
    ['to read messages', '"$JS.API.CONSUMER.MSG.NEXT.>"'],
  ])('whose right %s is revoked gets UNAUTHORIZED, and resumes when it has it again', async (_right, denied) => {
    await withMirror(users(mirrorUser()), async (stage, nats) => {
      await stage.fill(5)
      await stage.live()
      await reload(nats, users(mirrorUser(denied)))
      stage.informer.relist({ timeoutMs: 60_000 }).catch(() => {}) // A watch continues with the consumer that it has.
      await stage.until('the refusal', () => stage.codes.includes('UNAUTHORIZED'))
      expect(stage.informer.size).toBe(5)
      expect(stage.errors.find(({ code }) => code === 'UNAUTHORIZED')?.message).toMatch(/Permissions Violation/i)
      await stage.put('k1', 1)
      await reload(nats, users(mirrorUser()))
      await stage.healed()
    })
  })

  test('that is removed gets UNAUTHORIZED, and resumes when it exists again', async () => {
    await withMirror(users(mirrorUser()), async (stage, nats) => {
      await stage.fill(5)
      await stage.live()
      await reload(nats, users(''))
      await stage.until('the refusal', () => stage.codes.includes('UNAUTHORIZED'))
      await stage.put('k1', 1)
      await reload(nats, users(mirrorUser()))
      await stage.healed()
    })
  })

  test('[A7] whose password is replaced twice while a writer writes is followed by a mirror', async () => {
    const passwords = ['m', 'second', 'third']
    const configOf = (number: number): string =>
      users(mirrorUser().replace('password: m', `password: ${passwords[number]}`))
    let password = passwords[0]
    await using nats = await started(configOf(0))
    const authenticator = usernamePasswordAuthenticator('mirror', () => password ?? '')
    // A user in the options would be sent instead.
    const connect = (): Promise<NatsConnection> => connectTo({ ...RETRIED, port: nats.port, authenticator })
    await Stage.with({ nats, connect }, async (stage) => {
      let disconnects = 0
      const count = async (): Promise<void> => {
        for await (const { type } of stage.connection.status()) if (type === 'disconnect') disconnects++
      }
      void count()
      await followRotations(stage, {
        write: (n) => stage.put(`k${n % 7}`, n % 3 === 0 ? undefined : n),
        rotate: async (number) => {
          const before = disconnects
          await reload(nats, configOf(number))
          await stage.until('the connection to be ended', () => disconnects > before)
        },
        adopt: (number) => (password = passwords[number]),
      })
    })
  })

  test('[J7] that is refused another request over the connection of a mirror does not disturb it', async () => {
    await withMirror(users(mirrorUser('"$JS.API.STREAM.CREATE.>"')), async (stage) => {
      await stage.fill(5)
      await stage.live()
      stage.connection.publish('$JS.API.STREAM.CREATE.other', '{}')
      stage.connection.publish('elsewhere', '{}')
      await stage.put('k1', 1)
      await stage.healed()
      expect(stage.errors).toEqual([])
    })
  })

  test('may use a connection that is closed after refused logins: the error names the option', async () => {
    await using nats = await started(users(mirrorUser()))
    const connection = await nats.connect({ user: 'mirror', pass: 'm', ignoreAuthErrorAbort: false })
    await reload(nats, users(''))
    await connection.closed()
    expect((await refusal(natsKvSource({ client: connection, bucket: 'any' }))).message).toContain(
      'ignoreAuthErrorAbort: true',
    )
  })
})

describeServer('nats 2.15', 'a server without JetStream', (server) => {
  test('is UNAVAILABLE, and says that it is not enabled', async () => {
    await using nats = await NatsServer.start({ server, hasJetStream: false })
    const source = natsKvSource({ client: await nats.connect(), bucket: 'any' })
    expect(await refusal(source)).toMatchObject(failure('UNAVAILABLE', 'not enabled'))
  })

  test('or one whose account has none, is UNAVAILABLE and says so', async () => {
    const config = 'accounts { plain: { users: [{ user: u, password: p }] } }'
    await using nats = await NatsServer.start({ server, config, login: { user: 'u', pass: 'p' } })
    const source = natsKvSource({ client: await nats.connect(), bucket: 'any' })
    expect(await refusal(source)).toMatchObject(failure('UNAVAILABLE', 'not enabled'))
  })
})
