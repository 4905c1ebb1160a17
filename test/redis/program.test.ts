import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { ensureBuilt } from '../support/build.js'
import { Program } from '../support/programs.js'
import { useRedis } from './support.js'

beforeAll(ensureBuilt)

describeServer('redis 7.0', 'API program 10', (server) => {
  const own = useRedis(server)
  const run = (port: number): Program => {
    const program = new Program('10-flags', { setup: '10-redis.ts', env: { REDIS_PORT: String(port) }, goesOn: true })
    onTestFinished(() => program[Symbol.asyncDispose]())
    return program
  }

  test('the program mirrors the flags, and waits for changes', async () => {
    const program = run(own.redis.port)
    const isWatching = async (): Promise<boolean> =>
      /name=listwatch .*cmd=xread/.test(String(await own.redis.client().client('LIST')))
    await waitUntil('it to wait for changes', isWatching)
    expect(program.errors).toBe('')
  })

  test('the program has defaults if Redis is not available', async () => {
    const program = run(1)
    await program.until(() => program.errors.includes('defaults until Redis answers'), 'it to be reported')
  })
})
