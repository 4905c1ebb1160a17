// An API server with pods that /write changes: node sustained-kubernetes-server.ts
import { createServer, type ServerResponse } from 'node:http'
import { allAt, ROWS, rowAt } from '../sustained/engine.ts'

const HEAD = '"kind":"Pod","apiVersion":"v1"'
let version = ROWS
const watches = new Set<ServerResponse>()

function textOf(at: number, own: number): string {
  const metadata = {
    name: `pod-${at}`,
    namespace: `team-${at % 100}`,
    uid: `7c1e5a90-4b2d-4f68-9a37-${String(at).padStart(12, '0')}`,
    resourceVersion: String(own),
  }
  return `{${HEAD},"metadata":${JSON.stringify(metadata)},${JSON.stringify(rowAt(at)).slice(1)}`
}

const resources = [
  { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['list', 'watch', 'get'] },
]
const discovery = JSON.stringify({ kind: 'APIResourceList', groupVersion: 'v1', resources })
const json = { 'content-type': 'application/json' }

const server = createServer((question, answer) => {
  const { pathname, searchParams } = new URL(question.url ?? '/', 'http://here')
  if (pathname === '/api/v1') answer.writeHead(200, json).end(discovery)
  else if (pathname === '/write') {
    const [first, count] = ['first', 'count'].map((name) => Number(searchParams.get(name)))
    const events = allAt(first ?? 0, count ?? 0, (at) => `{"type":"MODIFIED","object":${textOf(at, ++version)}}\n`)
    const text = events.join('')
    for (const watch of watches) watch.write(text)
    answer.end()
  } else if (pathname !== '/api/v1/pods' || searchParams.get('sendInitialEvents') === 'true') {
    answer.writeHead(pathname === '/api/v1/pods' ? 422 : 404).end()
  } else if (searchParams.has('watch')) {
    watches.add(answer.writeHead(200, json))
    answer.on('close', () => watches.delete(answer)).flushHeaders()
  } else {
    const items = searchParams.get('limit') === '1' ? [] : allAt(0, ROWS, (at) => textOf(at, at + 1))
    const metadata = `"metadata":{"resourceVersion":"${version}"}`
    answer.writeHead(200, json).end(`{"kind":"PodList","apiVersion":"v1",${metadata},"items":[${items.join(',')}]}`)
  }
})
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: Object(server.address()).port })))
