import { get } from 'node:http'
import { kubernetesSource } from 'listwatch/kubernetes'
import { startServer } from '../server-process.ts'
import type { Engine, Row } from './engine.ts'

/** An API server that another process plays: a real one writes some hundreds of objects a second. */
export const kubernetes: Engine = {
  together: [1],
  lanes: 4,
  async start() {
    const { port, stop } = await startServer('sustained-kubernetes-server', [])
    return { address: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => stop() }
  },
  connectWriter: async (address) => async (first, count) => {
    await (await fetch(`${address}/write?first=${first}&count=${count}`)).arrayBuffer()
  },
  source: (server) =>
    kubernetesSource<Row & { readonly metadata: object }>({
      kubeConfig: {
        getCurrentContext: () => 'here',
        getCurrentCluster: () => ({ server }),
        applyToHTTPSOptions: async () => {},
      },
      kind: 'Pod',
    }),
  follow: (address, onRow) =>
    new Promise((resolve, reject) => {
      get(`${address}/api/v1/pods?watch=true`, { agent: false }, (answer) => {
        let rest = ''
        answer.setEncoding('utf8').on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) onRow((JSON.parse(line) as { readonly object: Row }).object)
        })
        resolve()
      }).on('error', reject)
    }),
}
