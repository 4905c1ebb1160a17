import { createServer, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { inspectedMirror } from '../../../cli/verify/inspected-mirror.js'
import { portOf } from '../../support/listening.js'

async function mirrorOf(answer: (response: ServerResponse) => void): Promise<ReturnType<typeof inspectedMirror>> {
  const server = createServer((_request, response) => answer(response))
  const { signal } = new AbortController()
  return inspectedMirror({ address: `http://127.0.0.1:${await portOf(server)}/#token=t`, keysOnly: false, signal })
}

const head = '{"informer":"x","versions":{"s":"1"},"isSynced":true,"showsSecrets":false,"invalid":[]}\n'

test.each([
  ['of another server', '<html>\n</html>\n'],
  ['without a line', ''],
  ['that is null', 'null\n'],
  ['without versions', '{"informer":"x"}\n'],
  ['with a line that is not a digest', `${head}5\n`],
])('a response %s is refused with the address', async (_what, text) => {
  const mirror = await mirrorOf((response) => response.end(text))
  await expect(mirror.view()).rejects.toThrow(
    /^the response of http:\/\/127.0.0.1:\d+ ended early, or is not that of an inspector: /,
  )
})

test('a response that ends with its process is refused with the address', async () => {
  const mirror = await mirrorOf((response) => response.write(head, () => response.destroy()))
  await expect(mirror.view()).rejects.toThrow(/^the response of http:\/\/127.0.0.1:\d+ ended early, /)
})

test('a complete response is read', async () => {
  const mirror = await mirrorOf((response) => response.end(`${head}["a","digest",7]\n`))
  using view = await mirror.view()
  expect([view.version, view.sourceName, [...view.keys()], view.writeOf('a')]).toEqual(['1', 's', ['a'], 7])
})
