import type { RequestOptions } from 'node:https'
import { inspect } from 'node:util'
import { KubeConfig, type User } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import {
  Credentials,
  type KubeConfigLike,
  type KubeConfigProvider,
} from '../../../../adapters/kubernetes/http/credentials.js'
import { OptionError, SourceError } from '../../../../src/contract/errors.js'

const cluster = { name: 'c', server: 'https://one.example:6443/k8s/clusters/x', skipTLSVerify: false }

/** One context for each user. */
function configOf(...users: readonly Omit<User, 'authProvider'>[]): KubeConfig {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [cluster],
    users,
    contexts: users.map(({ name }) => ({ name, cluster: 'c', user: name })),
    currentContext: users[0]?.name,
  })
  return config
}

const tokenOf = async (credentials: Credentials, now = 0): Promise<unknown> =>
  Object((await credentials.access(now)).options.headers)['Authorization']

describe('credentials', () => {
  test('are those of the current context, at its server', async () => {
    const { server, options, proxy } = await new Credentials(configOf({ name: 'u', token: 't' })).access(0)
    expect([server.href, options.headers, proxy]).toEqual([cluster.server, { Authorization: 'Bearer t' }, undefined])
  })

  test('take no agent from the configuration, which keeps it with the certificates that it once had', async () => {
    const { options } = await new Credentials(configOf({ name: 'u', token: 't' })).access(0)
    expect(options.agent).toBeUndefined()
  })

  test('stay with the context that was current, whatever becomes current later', async () => {
    const config = configOf({ name: 'a', token: 'of a' }, { name: 'b', token: 'of b' })
    const credentials = new Credentials(config)
    config.setCurrentContext('b')
    expect(await tokenOf(credentials)).toBe('Bearer of a')
  })

  test('of a function are requested once, and again only after they were rejected', async () => {
    let calls = 0
    const credentials = new Credentials(() => configOf({ name: 'u', token: `number ${++calls}` }))
    const before = [await tokenOf(credentials), await tokenOf(credentials)]
    credentials.renew()
    expect([...before, await tokenOf(credentials)]).toEqual(['Bearer number 1', 'Bearer number 1', 'Bearer number 2'])
  })

  test('of a function are requested once more, however many requests with them were rejected', async () => {
    let calls = 0
    const credentials = new Credentials(() => configOf({ name: 'u', token: `number ${++calls}` }))
    const before = [await credentials.access(0), await credentials.access(0), await credentials.access(0)]
    const after: unknown[] = []
    for (const refused of before) {
      credentials.renew(refused)
      after.push(await tokenOf(credentials))
    }
    expect(after).toEqual(['Bearer number 2', 'Bearer number 2', 'Bearer number 2'])
  })

  test('of a plugin are requested once for all concurrent callers', async () => {
    const config = configOf({ name: 'u' })
    let calls = 0
    const done = Promise.withResolvers<void>()
    const applyAuthentication = async (_user: unknown, options: RequestOptions): Promise<void> => {
      calls++
      await done.promise
      options.headers = { Authorization: `number ${calls}` }
    }
    config.addAuthenticator({ isAuthProvider: () => true, applyAuthentication })
    const credentials = new Credentials(config)
    const given = [tokenOf(credentials), tokenOf(credentials), tokenOf(credentials)]
    done.resolve()
    const first = await Promise.all(given)
    expect([...first, await tokenOf(credentials)]).toEqual(['number 1', 'number 1', 'number 1', 'number 2'])
  })

  /** The credentials of a plugin, which returns them one after the other as a test resolves them, and remembers none. */
  function loggingIn() {
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const left = [first, second]
    const config: KubeConfigLike = {
      ...like({}),
      applyToHTTPSOptions: async (options) => {
        options.headers = { Authorization: await (left.shift()?.promise ?? 'called too often') }
      },
    }
    return { credentials: new Credentials(config), first, second }
  }

  test('that a caller has abandoned remain pending: the next caller waits for the same', async () => {
    const { credentials, first } = loggingIn()
    credentials.abandon(credentials.access(0))
    const again = tokenOf(credentials, 299_000)
    first.resolve('late')
    expect(await again).toBe('late')
  })

  test('that arrive when no caller waits are returned to the next caller, once', async () => {
    const { credentials, first, second } = loggingIn()
    const access = credentials.access(0)
    credentials.abandon(access)
    first.resolve('late')
    second.resolve('next')
    await access
    expect([await tokenOf(credentials, 75_000), await tokenOf(credentials, 76_000)]).toEqual(['late', 'next'])
  })

  test('that fail when no caller waits fail for the next caller, once', async () => {
    const { credentials, first, second } = loggingIn()
    const access = credentials.access(0)
    credentials.abandon(access)
    first.reject(new Error('log in first'))
    second.resolve('next')
    await expect(access).rejects.toThrow('log in first')
    await expect(credentials.access(75_000)).rejects.toThrow('log in first')
    expect(await tokenOf(credentials, 76_000)).toBe('next')
  })

  test('that do not arrive for five minutes are requested again, and a late result is ignored', async () => {
    const first = Promise.withResolvers<KubeConfig>()
    const given = [first.promise, Promise.resolve(configOf({ name: 'u', token: 'in time' }))]
    const credentials = new Credentials(() => given.shift() ?? Promise.reject(new Error('it was called too often')))
    const late = credentials.access(0)
    credentials.abandon(late)
    const quick = await tokenOf(credentials, 300_000)
    first.resolve(configOf({ name: 'u', token: 'too late' }))
    await late
    expect([quick, await tokenOf(credentials, 300_000)]).toEqual(['Bearer in time', 'Bearer in time'])
  })

  test('of a configuration with a cache are requested from a copy without it, after they were rejected', async () => {
    const config = configOf({ name: 'u' })
    // As an exec plugin's: kept until it expires, whatever the server says of it.
    Object.assign(config, { authenticators: [{ isAuthProvider: () => true, applyAuthentication: remembered('old') }] })
    const credentials = new Credentials(config)
    const before = await tokenOf(credentials)
    credentials.renew()
    expect([before, await tokenOf(credentials)]).toEqual(['old', undefined])
  })

  test('of an authenticator of the user are requested from it again', async () => {
    const config = configOf({ name: 'u' })
    config.addAuthenticator({ isAuthProvider: () => true, applyAuthentication: remembered('mine') })
    const credentials = new Credentials(config)
    credentials.renew()
    expect(await tokenOf(credentials)).toBe('mine')
  })

  class Subclass extends KubeConfig {
    bearer = ''
    override async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
      options.headers = { Authorization: this.bearer }
    }
  }
  const own: readonly (readonly [what: string, make: () => KubeConfig])[] = [
    ['of a subclass', () => Object.assign(new Subclass(), configOf({ name: 'u' }), { bearer: 'mine' })],
    [
      'of a method that was replaced',
      () => {
        const applyToHTTPSOptions = (options: RequestOptions): Promise<void> => remembered('mine')(undefined, options)
        return Object.assign(configOf({ name: 'u' }), { applyToHTTPSOptions })
      },
    ],
  ]
  describe.each(own)('%s', (_what, make) => {
    test('are requested from it again after they were rejected: no copy has its additions', async () => {
      const credentials = new Credentials(make())
      credentials.renew()
      expect(await tokenOf(credentials)).toBe('mine')
    })

    test('are requested from it again if a function returns it once more', async () => {
      const config = make()
      const credentials = new Credentials(() => config)
      await tokenOf(credentials)
      credentials.renew()
      expect(await tokenOf(credentials)).toBe('mine')
    })

    test('are not those of another context that became current', async () => {
      const config = make()
      const credentials = new Credentials(config)
      config.setCurrentContext('other')
      await expect(credentials.access(0)).rejects.toMatchObject({ code: 'PROTOCOL' })
    })
  })

  test('of a subclass that only loads are requested from a copy without a cache, after they were rejected', async () => {
    class Loaded extends KubeConfig {
      constructor(from: KubeConfig) {
        super()
        this.loadFromString(from.exportConfig())
      }
    }
    const config = new Loaded(configOf({ name: 'u' }))
    Object.assign(config, { authenticators: [{ isAuthProvider: () => true, applyAuthentication: remembered('old') }] })
    const credentials = new Credentials(config)
    const before = await tokenOf(credentials)
    credentials.renew()
    expect([before, await tokenOf(credentials)]).toEqual(['old', undefined])
  })

  test.each([
    ['prints a bare token', 'echo hunter2hunter2'],
    ['prints JSON that is damaged', `echo '{"status":{"token":hunter2}}'`],
    ['fails and prints secrets', 'echo "password=hunter2 Authorization: Bearer hunter2" >&2; exit 1'],
  ])(
    '[B33] of an exec plugin that %s are refused with an error that shows no secret anywhere',
    async (_what, script) => {
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] }
      const error: unknown = await new Credentials(configOf({ name: 'u', exec })).access(0).catch((reason) => reason)
      expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter2')
    },
  )

  test('[B33] of a function that throws are refused with an error that shows no secret anywhere', async () => {
    const configProvider = (): never => {
      throw Object.assign(new Error('token=hunter2'), { stderr: 'hunter2' })
    }
    const error: unknown = await new Credentials(configProvider).access(0).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'UNAVAILABLE', message: 'kubeConfig() failed: token=***' })
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter2')
  })

  test.each([
    ['a function that returns something else', () => ({}), 'must return a KubeConfig'],
    ['a function that returns undefined', async () => undefined, 'must return a KubeConfig'],
    ['a KubeConfig that was never loaded', new KubeConfig(), 'has no context: load one'],
  ])('[K3] of %s are a mistake in the program: an OptionError', async (_what, configProvider, message) => {
    const error: unknown = await new Credentials(configProvider as KubeConfigProvider)
      .access(0)
      .catch((reason) => reason)
    expect(error).toBeInstanceOf(OptionError)
    expect(error).toMatchObject({ option: 'kubeConfig', message: expect.stringContaining(message) })
  })

  const flawed: readonly (readonly [what: string, configProvider: () => unknown, code: string, says: string])[] = [
    ['no context', () => new KubeConfig(), 'PROTOCOL', 'the kubeconfig has no context'],
    [
      'a context without a cluster',
      () => Object.assign(configOf({ name: 'u' }), { clusters: [] }),
      'PROTOCOL',
      'has no cluster',
    ],
    ['a server that is not a URL', () => like({ server: 'nowhere' }), 'PROTOCOL', 'is not a URL'],
    ['a server without a scheme', () => like({ server: 'localhost:6443' }), 'PROTOCOL', 'like https://host:6443'],
    ['a server of another protocol', () => like({ server: 'ftp://one.example' }), 'PROTOCOL', '"ftp://one.example"'],
    // In other letters client-node does not see that it is plain HTTP.
    ['plain HTTP in capitals', () => like({ server: 'HTTP://one.example' }), 'PROTOCOL', 'like https://host:6443'],
    [
      'a function that throws',
      () => {
        throw new Error('password=hunter2')
      },
      'UNAVAILABLE',
      'kubeConfig() failed',
    ],
    [
      'a plugin that fails',
      () => like({ fails: new Error('aws: not found') }),
      'UNAUTHORIZED',
      'no credentials: aws: not found',
    ],
    [
      'a token that no header can have',
      () => configOf({ name: 'u', token: 'hunter2\n' }),
      'UNAUTHORIZED',
      'Invalid character in header content ["Authorization"] (check the user of the current context',
    ],
    [
      'an invalid client certificate',
      () => configOf({ name: 'u', certData: btoa('hunter2'), keyData: btoa('hunter2') }),
      'UNAUTHORIZED',
      'a certificate or its key cannot be read: error:0480006C:PEM routines::no start line (check the user of the',
    ],
    [
      'plain HTTP',
      () => like({ fails: new Error('HTTP protocol is not allowed when …') }),
      'PROTOCOL',
      'insecure-skip-tls-verify',
    ],
  ]
  test.each(flawed)('%s: an error that says what to do, and no secret', async (_what, configProvider, code, says) => {
    const credentials = new Credentials(configProvider as () => KubeConfigLike)
    const error: unknown = await credentials.access(0).catch((thrown: unknown) => thrown)
    if (!(error instanceof SourceError)) throw new Error('it threw no SourceError', { cause: error })
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(says)])
    expect(error.message).not.toContain('hunter2')
  })
})

function remembered(token: string) {
  return (_user: unknown, options: RequestOptions): Promise<void> => {
    options.headers = { Authorization: token }
    return Promise.resolve()
  }
}

function like({
  server = cluster.server,
  fails,
}: {
  readonly server?: string
  readonly fails?: Error
}): KubeConfigLike {
  return {
    getCurrentContext: () => 'x',
    getCurrentCluster: () => ({ server }),
    applyToHTTPSOptions: () => (fails === undefined ? Promise.resolve() : Promise.reject(fails)),
  }
}
