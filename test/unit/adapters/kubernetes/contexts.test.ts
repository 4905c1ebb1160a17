import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { Credentials, type KubeConfigLike } from '../../../../adapters/kubernetes/http/credentials.js'

/** Two contexts, each of a cluster of its own; `a` is current. */
function twoClusters(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: ['a', 'b'].map((name) => ({ name, server: `https://${name}.example:6443`, skipTLSVerify: false })),
    users: [{ name: 'u' }],
    contexts: ['a', 'b'].map((name) => ({ name, cluster: name, user: 'u' })),
    currentContext: 'a',
  })
  return config
}

/** An exec plugin's token is remembered so: by the configuration, until it expires. */
function withPlugin(tokens: { value: string }): KubeConfig {
  const config = twoClusters()
  const remembered = { value: tokens.value }
  const authenticator = {
    isAuthProvider: () => true,
    applyAuthentication: async (_user: unknown, options: RequestOptions) => {
      options.headers = { Authorization: remembered.value }
    },
  }
  return Object.assign(config, { authenticators: [authenticator] })
}

const tokenOf = async (credentials: Credentials): Promise<unknown> =>
  Object((await credentials.access(0)).options.headers)['Authorization']

describe('a context that was current', () => {
  test('stays that of the source, even if the user has added an authenticator', async () => {
    const config = twoClusters()
    config.addAuthenticator({
      isAuthProvider: () => true,
      applyAuthentication: async (_user, options) => {
        options.headers = { Authorization: 'mine' }
      },
    })
    const credentials = new Credentials(config)
    config.setCurrentContext('b')
    const { server, options } = await credentials.access(0)
    expect([server.host, options.headers]).toEqual(['a.example:6443', { Authorization: 'mine' }])
    expect(config.getCurrentContext()).toBe('b')
  })

  test('is not replaced by another one if no copy can be made', async () => {
    let context = 'a'
    const config: KubeConfigLike = {
      getCurrentContext: () => context,
      getCurrentCluster: () => ({ server: `https://${context}.example` }),
      applyToHTTPSOptions: async () => {},
    }
    const credentials = new Credentials(config)
    context = 'b'
    await expect(credentials.access(0)).rejects.toMatchObject({
      code: 'PROTOCOL',
      message: expect.stringMatching(/"a".*"b"/),
    })
  })
})

describe('a function that returns a configuration', () => {
  test('and the same one after it was refused: its cached credentials are dropped', async () => {
    const config = withPlugin({ value: 'old' })
    const credentials = new Credentials(() => config)
    const before = await tokenOf(credentials)
    credentials.renew()
    expect([before, await tokenOf(credentials)]).toEqual(['old', undefined])
  })

  test('and another one after it was refused: that one is used as it is', async () => {
    const configs = [withPlugin({ value: 'old' }), withPlugin({ value: 'new' })]
    const credentials = new Credentials(() => configs.shift() ?? new KubeConfig())
    await tokenOf(credentials)
    credentials.renew()
    expect(await tokenOf(credentials)).toBe('new')
  })

  test('and is slow does not bring back what was refused meanwhile', async () => {
    const first = Promise.withResolvers<KubeConfig>()
    const given = [first.promise, Promise.resolve(withPlugin({ value: 'new' }))]
    const credentials = new Credentials(() => given.shift() ?? Promise.reject(new Error('it was called too often')))
    const slow = tokenOf(credentials)
    credentials.renew()
    const quick = await tokenOf(credentials)
    first.resolve(withPlugin({ value: 'old' }))
    expect([quick, await slow, await tokenOf(credentials)]).toEqual(['new', 'new', 'new'])
  })

  test('and fails is called again', async () => {
    let calls = 0
    const credentials = new Credentials(() => {
      calls++
      if (calls === 1) throw new Error('the vault is sealed')
      return twoClusters()
    })
    await expect(credentials.access(0)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect((await credentials.access(0)).server.host).toBe('a.example:6443')
  })
})
