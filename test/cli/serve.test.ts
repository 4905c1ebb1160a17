import { expect, test } from 'vitest'
import { redisWriter } from '../../adapters/redis/index.js'
import { userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import type { Child } from '../support/child.js'
import { listwatch, refusalOf, resultOf } from './support.js'

const ADDRESS = /^(http:\/\/127\.0\.0\.1:\d+)\/#token=([0-9a-f]{32})$/

/** The address and the token that the command prints. */
async function addressOf(child: Child): Promise<readonly [origin: string, token: string]> {
  await waitUntil('the address', () => child.lines.some((line) => ADDRESS.test(line)))
  const [, origin = '', token = ''] = ADDRESS.exec(child.lines[0] ?? '') ?? []
  return [origin, token]
}

describeServer('redis 7.0', 'serve redis://', useRedis, (own) => {
  test('serves the objects of a source, and ends after --for', async () => {
    await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: 'orders' })
    await writer.apply([
      { put: 'a', object: { tenant: 'acme' } },
      { put: 'b', object: { tenant: 'birch' } },
    ])
    const child = listwatch(['serve', own.redis.url, '--collection', 'orders', '--index', 'tenant', '--for', '5s'])
    const [origin, token] = await addressOf(child)
    const read = async (path: string): Promise<unknown> => {
      const response = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` } })
      return response.json()
    }
    await waitUntil('the objects', async () => {
      const { total } = (await read('/api/objects')) as { readonly total: number }
      return total === 2
    })
    expect(await read('/api/objects?tenant=birch')).toMatchObject({ total: 1, rows: [{ key: 'b' }] })
    expect((await fetch(`${origin}/page.js`)).headers.get('content-type')).toContain('javascript')
    expect((await fetch(`${origin}/api/objects`)).status).toBe(401)
    expect(await resultOf(child)).toMatchObject({ code: 0, errors: '' })
    await expect(fetch(origin)).rejects.toThrow()
  })

  test('a port that is in use is named', async () => {
    const first = listwatch(['serve', own.redis.url, '--keys', 'a*'])
    const [origin] = await addressOf(first)
    const port = new URL(origin).port
    const second = listwatch(['serve', own.redis.url, '--keys', 'a*', '--port', port])
    expect(await refusalOf(second)).toBe(
      `cannot serve the page: the port ${port} is in use; use another --port, or 0 for a free one`,
    )
    first.kill('SIGINT')
    await first.ended
  })
})
