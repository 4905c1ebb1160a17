import { once } from 'node:events'
import { createServer } from 'node:http'
import * as http2 from 'node:http2'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { nodeListener, serveHttp } from '../../../../serving/http/index.js'
import { createInformer } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'
import { listening } from '../../../support/listening.js'

async function answered(handler: (request: Request) => Promise<Response>, lines: readonly string[]): Promise<string> {
  const server = createServer(nodeListener(handler))
  const url = new URL(await listening(server))
  const socket = connect(Number(url.port), url.hostname)
  socket.end(`${lines.join('\r\n')}\r\n\r\n`)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'close')
  await new Promise((resolve) => server.close(resolve))
  return text
}

test('a request with a method that Request refuses is answered with 400', async () => {
  const handler = vi.fn(async () => new Response('ok'))
  const text = await answered(handler, ['TRACE /list HTTP/1.1', 'Host: a.test', 'Connection: close'])
  expect(text).toMatch(/^HTTP\/1.1 400 /)
  expect(handler).not.toHaveBeenCalled()
})

test('a request is passed with its path, query and headers', async () => {
  const headers: [string, string][] = ['set-cookie', 'set-cookie'].map((name, i) => [name, `c${i}=1`])
  const handler = async ({ url, headers: own }: Request) => Response.json([url, own.get('x-a')], { headers })
  const lines = ['GET //a/list?b=c HTTP/1.1', 'Host: a.test/x/', 'X-A: 1', 'X-A: 2', 'Connection: close']
  const text = await answered(handler, lines)
  expect(text).toContain('["http://a.test//a/list?b=c","1, 2"]')
  expect(text).toContain('set-cookie: c0=1\r\nset-cookie: c1=1\r\n')
})

test('a request of HTTP/2 is passed, and its response is sent frame by frame', async () => {
  const source = memorySource({ entries: [['a', 1]] })
  await using informer = createInformer({ source }).start()
  await using mirror = serveHttp(informer)
  const server = http2.createServer(nodeListener(mirror))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const client = http2.connect(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
  let text = ''
  for await (const chunk of client.request({ ':path': '/list' }).setEncoding('utf8')) text += chunk
  expect(text).toMatch(/^event: begin.*"key":"a".*event: end/s)
  client.close()
  await new Promise((resolve) => server.close(resolve))
})

test('a handler that rejects is a warning, and the status 500', async () => {
  using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const text = await answered(
    () => Promise.reject(new Error('broken')),
    ['GET / HTTP/1.1', 'Host: a', 'Connection: close'],
  )
  expect(text).toMatch(/^HTTP\/1.1 500 /)
  expect(warned).toHaveBeenCalledWith('nodeListener: a request failed: broken', expect.anything())
})

test('a listener without a handler is a mistake at the call', () => {
  const informer = createInformer({ source: memorySource() })
  expect(() => nodeListener(informer as never)).toThrow(
    'nodeListener: the first argument must be a handler, such as serveHttp(informer)',
  )
})

test('a mirror that receives a request of node:http rejects, and names nodeListener', async () => {
  await using mirror = serveHttp(createInformer({ source: memorySource() }))
  const outcome = Promise.withResolvers<unknown>()
  const server = createServer((incoming, response) => {
    mirror(incoming as never).then(outcome.resolve, outcome.reject)
    response.end()
  })
  const rejected = expect(outcome.promise).rejects.toThrow('for node:http and Express use nodeListener(mirror)')
  await fetch(`${await listening(server)}/list`)
  await rejected
  await new Promise((resolve) => server.close(resolve))
})
