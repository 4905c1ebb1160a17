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
import { failure } from '../../../support/failure.js'

const serverOf = (name: string): string => `https://${name}.example:6443/k8s/clusters/x`

/** One context for each user, each of a cluster of its own. */
function configOf(...users: readonly Omit<User, 'authProvider'>[]): KubeConfig {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: users.map(({ name }) => ({ name, server: serverOf(name), skipTLSVerify: false })),
    users,
    contexts: users.map(({ name }) => ({ name, cluster: name, user: name })),
    currentContext: users[0]?.name,
  })
  return config
}

function execOf(script: string): KubeConfig {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] }
  return configOf({ name: 'u', exec })
}

const tokenOf = async (credentials: Credentials, now = 0): Promise<unknown> =>
  Object((await credentials.access(now)).options.headers)['Authorization']

describe('credentials', () => {
  test('are those of the current context, at its server, without the agent of the configuration', async () => {
    const { server, options, proxy } = await new Credentials(configOf({ name: 'u', token: 't' })).access(0)
    expect([server.href, options.headers, proxy]).toEqual([serverOf('u'), { Authorization: 'Bearer t' }, undefined])
    // The configuration keeps the agent with the certificates that it once had.
    expect(options.agent).toBeUndefined()
  })

  test.each([true, false])(
    'stay with the context that was current, whatever becomes current later; the user has an authenticator: %s',
    async (hasAuthenticator) => {
      const config = configOf(...['a', 'b'].map((name) => (hasAuthenticator ? { name } : { name, token: name })))
      if (hasAuthenticator)
        config.addAuthenticator({ isAuthProvider: () => true, applyAuthentication: remembered('mine') })
      const credentials = new Credentials(config)
      config.setCurrentContext('b')
      expect(await tokenOf(credentials)).toBe(hasAuthenticator ? 'mine' : 'Bearer a')
      expect((await credentials.access(0)).server.href).toBe(serverOf('a'))
      expect(config.getCurrentContext()).toBe('b')
    },
  )

  test('are not those of another context that became current if no copy can be made', async () => {
    let context = 'a'
    const credentials = new Credentials({ ...like({}), getCurrentContext: () => context })
    context = 'b'
    await expect(credentials.access(0)).rejects.toMatchObject(failure('PROTOCOL', /"a".*"b"/))
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

  test.each(['fulfilled', 'rejected'])('that are %s when no caller waits are so for the next one', async (status) => {
    const { credentials, first, second } = loggingIn()
    const access = credentials.access(0)
    credentials.abandon(access)
    if (status === 'fulfilled') first.resolve('late')
    else first.reject(new Error('log in first'))
    second.resolve('next')
    expect(await Promise.allSettled([access])).toMatchObject([{ status }])
    const late = await tokenOf(credentials, 75_000).catch(({ message }) => message)
    expect(late).toContain(status === 'fulfilled' ? 'late' : 'log in first')
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

  /** As of an exec plugin: kept until they expire, whatever the server says of them. */
  function withPlugin(config: KubeConfig, token: string): KubeConfig {
    const authenticators = [{ isAuthProvider: () => true, applyAuthentication: remembered(token) }]
    return Object.assign(config, { authenticators })
  }

  class Loaded extends KubeConfig {
    constructor(from: KubeConfig) {
      super()
      this.loadFromString(from.exportConfig())
    }
  }

  test.each(
    Object.entries<() => KubeConfig | (() => KubeConfig)>({
      'a configuration with a cache': () => withPlugin(configOf({ name: 'u' }), 'old'),
      'a subclass that only loads': () => withPlugin(new Loaded(configOf({ name: 'u' })), 'old'),
      'a function that returns the same configuration': () => {
        const config = withPlugin(configOf({ name: 'u' }), 'old')
        return () => config
      },
    }),
  )('of %s are requested from a copy without a cache, after they were rejected', async (_what, make) => {
    const credentials = new Credentials(make())
    const before = await tokenOf(credentials)
    credentials.renew()
    expect([before, await tokenOf(credentials)]).toEqual(['old', undefined])
  })

  test('of a function that is slow do not replace those that were requested after a rejection', async () => {
    const first = Promise.withResolvers<KubeConfig>()
    const given = [first.promise, Promise.resolve(configOf({ name: 'u', token: 'new' }))]
    const credentials = new Credentials(() => given.shift() ?? Promise.reject(new Error('it was called too often')))
    const slow = tokenOf(credentials)
    credentials.renew()
    const quick = await tokenOf(credentials)
    first.resolve(configOf({ name: 'u', token: 'old' }))
    expect([quick, await slow, await tokenOf(credentials)]).toEqual(['Bearer new', 'Bearer new', 'Bearer new'])
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
  const own: Readonly<Record<string, () => KubeConfig>> = {
    'of a subclass': () => Object.assign(new Subclass(), configOf({ name: 'u' }), { bearer: 'mine' }),
    'of a method that was replaced': () => {
      const applyToHTTPSOptions = (options: RequestOptions): Promise<void> => remembered('mine')(undefined, options)
      return Object.assign(configOf({ name: 'u' }), { applyToHTTPSOptions })
    },
  }
  describe.each(Object.entries(own))('%s', (_what, make) => {
    test.each([false, true])(
      'are requested from it again after they were rejected: no copy has its additions; from a function: %s',
      async (isFunction) => {
        const config = make()
        const credentials = new Credentials(isFunction ? () => config : config)
        if (isFunction) await tokenOf(credentials)
        credentials.renew()
        expect(await tokenOf(credentials)).toBe('mine')
      },
    )

    test('are not those of another context that became current', async () => {
      const config = make()
      const credentials = new Credentials(config)
      config.setCurrentContext('other')
      await expect(credentials.access(0)).rejects.toMatchObject({ code: 'PROTOCOL' })
    })
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

  const flawed: Readonly<Record<string, readonly [configProvider: () => unknown, code: string, says: string]>> = {
    'no context': [() => new KubeConfig(), 'PROTOCOL', 'the kubeconfig has no context'],
    'a context without a cluster': [
      () => Object.assign(configOf({ name: 'u' }), { clusters: [] }),
      'PROTOCOL',
      'has no cluster',
    ],
    'a server that is not a URL': [() => like({ server: 'nowhere' }), 'PROTOCOL', 'is not a URL'],
    'a server without a scheme': [() => like({ server: 'localhost:6443' }), 'PROTOCOL', 'like https://host:6443'],
    'a server of another protocol': [() => like({ server: 'ftp://one.example' }), 'PROTOCOL', '"ftp://one.example"'],
    // In other letters client-node does not see that it is plain HTTP.
    'plain HTTP in capitals': [() => like({ server: 'HTTP://one.example' }), 'PROTOCOL', 'like https://host:6443'],
    'a function that throws': [
      () => {
        throw Object.assign(new Error('token=hunter2'), { stderr: 'hunter2' })
      },
      'UNAVAILABLE',
      'kubeConfig() failed: token=***',
    ],
    'a plugin that prints a bare token': [() => execOf('echo hunter2hunter2'), 'UNAUTHORIZED', ''],
    'a plugin that prints damaged JSON': [() => execOf(`echo '{"status":{"token":hunter2}}'`), 'UNAUTHORIZED', ''],
    'a plugin that fails and prints secrets': [
      () => execOf('echo "password=hunter2 Authorization: Bearer hunter2" >&2; exit 1'),
      'UNAUTHORIZED',
      '',
    ],
    'a plugin that fails': [
      () => like({ fails: new Error('aws: not found') }),
      'UNAUTHORIZED',
      'no credentials: aws: not found',
    ],
    'a token that no header can have': [
      () => configOf({ name: 'u', token: 'hunter2\n' }),
      'UNAUTHORIZED',
      'Invalid character in header content ["Authorization"] (check the user of the current context',
    ],
    'an invalid client certificate': [
      () => configOf({ name: 'u', certData: btoa('hunter2'), keyData: btoa('hunter2') }),
      'UNAUTHORIZED',
      'a certificate or its key cannot be read: error:0480006C:PEM routines::no start line (check the user of the',
    ],
    'plain HTTP': [
      () => like({ fails: new Error('HTTP protocol is not allowed when …') }),
      'PROTOCOL',
      'insecure-skip-tls-verify',
    ],
  }
  test.each(Object.entries(flawed))(
    '[B33] %s: an error with a remedy, and no secret',
    async (_, [configProvider, code, says]) => {
      const credentials = new Credentials(configProvider as () => KubeConfigLike)
      const error: unknown = await credentials.access(0).catch((thrown: unknown) => thrown)
      if (!(error instanceof SourceError)) throw new Error('it threw no SourceError', { cause: error })
      expect([error.code, error.message]).toEqual([code, expect.stringContaining(says)])
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter2')
    },
  )
})

function remembered(token: string) {
  return (_user: unknown, options: RequestOptions): Promise<void> => {
    options.headers = { Authorization: token }
    return Promise.resolve()
  }
}

function like({
  server = serverOf('one'),
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
