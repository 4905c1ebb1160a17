import { Redis } from 'ioredis'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { binary, ensureBuilt } from '../support/build.js'
import { Child } from '../support/child.js'
import { blocksOf } from '../support/documents.js'
import { Program } from '../support/programs.js'
import { UserProject } from '../support/user-project.js'
import { useRedis } from './support.js'

beforeAll(ensureBuilt)

const blocks = blocksOf(['docs/reference/redis.md'])
const programs = blocks.filter(({ language }) => language === 'ts').map(({ text }) => text)
const rights = blocks.flatMap(({ text }) => Array.from(text.matchAll(/^ACL SETUSER .*$/gm), ([line]) => line))

describeServer('redis 7.0', 'docs/reference/redis.md', (server) => {
  const own = useRedis(server)

  /** Runs the program of the guide that contains this text, with another server address. Returns its output. */
  async function run(having: string, url = own.redis.url): Promise<string> {
    const text = programs.find((each) => each.includes(having)) ?? ''
    const project = new UserProject(['ioredis'])
    onTestFinished(() => project[Symbol.dispose]())
    project.write('program.ts', text.replace('redis://localhost:6379', url))
    const child = new Child(binary('node'), ['program.ts'], { cwd: project.path })
    onTestFinished(() => child[Symbol.asyncDispose]())
    const { code } = await child.ended
    expect({ code, errors: child.errors }).toEqual({ code: 0, errors: '' })
    return child.output
  }

  test('the program of a collection shows what it wrote, and ends', async () => {
    expect(await run('redisCollectionSource<{')).toBe('{ enabled: true }\n')
  })

  test('the program of a collection needs no more rights than those of `both`', async () => {
    const both = rights.find((line) => line.startsWith('ACL SETUSER both')) ?? ''
    await own.redis.client().call('ACL', ...both.replace('…', 'word').split(/\s+/).slice(1))
    expect(await run('redisCollectionSource<{', `redis://both:word@${own.redis.endpoint}`)).toBe('{ enabled: true }\n')
  })

  test('the rights of `reader` and `writer` are enough for a mirror and for its writer', async () => {
    const clientOf = async (user: string): Promise<Redis> => {
      const line = rights.find((each) => each.startsWith(`ACL SETUSER ${user} `)) ?? ''
      await own.redis.client().call('ACL', ...line.replace('…', 'word').split(/\s+/).slice(1))
      const client = new Redis(`redis://${user}:word@${own.redis.endpoint}`)
      onTestFinished(() => client.disconnect())
      return client
    }
    await using writer = redisWriter({ client: await clientOf('writer'), collection: 'flags' })
    const flags = createInformer({
      source: redisCollectionSource<unknown>({ client: await clientOf('reader'), collection: 'flags' }),
    })
    onTestFinished(() => flags.stop())
    const errors: Error[] = []
    flags.on('error', (error) => errors.push(error))
    await flags.start().synced({ timeoutMs: 30_000 })
    await flags.waitFor(await writer.apply([{ put: 'a', object: 1 }]), { timeoutMs: 30_000 })
    expect(flags.get('a')).toBe(1)
    expect(errors).toEqual([])
  })

  test('the program of a database shows what it wrote, and ends, with the rights of `both` for its keys', async () => {
    const both = rights.find((line) => line.startsWith('ACL SETUSER both'))?.replace('both', 'bank') ?? ''
    await own.redis.client().call('ACL', ...both.replace('…', 'word').replace('flags', 'bank').split(/\s+/).slice(1))
    expect(await run('redisDatabase({', `redis://bank:word@${own.redis.endpoint}`)).toBe('{ balance: 40 }\n')
  })

  test('the program of a stream shows what it wrote, and ends', async () => {
    expect(await run('redisStreamSource<')).toBe('{ cents: 250 }\n')
  })

  test('the program of plain keys shows one of them, and ends', async () => {
    await own.redis.client().set('user:1', '{"name":"Ann"}')
    expect(await run('redisKeysSource<')).toBe("{ name: 'Ann' }\n")
  })
})

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
