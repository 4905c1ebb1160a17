import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { binary, ensureBuilt } from '../support/build.js'
import { Child } from '../support/child.js'
import { root } from '../support/sources.js'
import { useRedis } from './support.js'

beforeAll(ensureBuilt)

describeServer('redis 7.0', 'examples/feature-flags.ts', (server) => {
  const own = useRedis(server)
  const start = (url: string, ...args: readonly string[]): Child => {
    const file = join('examples', 'feature-flags.ts')
    const child = new Child(binary('node'), [file, ...args], { cwd: root, env: { ...process.env, REDIS_URL: url } })
    onTestFinished(() => child[Symbol.asyncDispose]())
    return child
  }

  test('the example fails with one line that names the reason', async () => {
    await own.redis.client().call('ACL', 'SETUSER', 'guest', 'reset', 'on', '>word', '+role', '+info')
    for (const [user, said] of [
      ['guest:wrong', 'WRONGPASS'],
      ['guest:word', 'NOPERM'],
    ]) {
      const child = start(`redis://${user}@${own.redis.endpoint}`, 'new-checkout', '25')
      expect(await child.ended).toEqual({ code: 1, signal: null })
      const [line = '', ...others] = child.errors.trimEnd().split('\n')
      expect(line).toMatch(new RegExp(`^NOT_WRITTEN: nothing was written: .*${said}`))
      expect(others).toEqual([])
    }
  })

  test('the example continues without permission to watch, and reports it', async () => {
    const child = start(`redis://guest:wrong@${own.redis.endpoint}`)
    await child.until(() => child.errors.includes('WRONGPASS'), 'it to be reported')
    expect(child.errors).not.toMatch(/^ +at /m)
    child.kill('SIGINT')
    expect(await child.ended).toEqual({ code: 0, signal: null })
  })
})
