// An API server that sends prepared bytes to every client: node kubernetes-server.ts <objects> [folder with protobuf]
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { SeededRandom } from 'listwatch/testing'

const [count = '50000', folder] = process.argv.slice(2)
const OBJECTS = Number(count)
const LIST_VERSION = 1_000_000
const CHUNK = 64 * 1024

const pad = (n: number, width: number): string => String(n).padStart(width, '0')

/** A pod of about 1.5 KB. */
function pod(i: number, version: number): object {
  const at = '2026-01-02T03:04:05Z'
  return {
    metadata: {
      name: `worker-${pad(i, 6)}-6f5d8c9b7d-z${pad(i % 99_991, 5)}`,
      generateName: 'worker-6f5d8c9b7d-',
      namespace: `team-${pad(i % 100, 4)}`,
      uid: `7c1e5a90-4b2d-4f68-9a37-${pad(i, 12)}`,
      resourceVersion: String(version),
      creationTimestamp: at,
      labels: { app: 'worker', 'pod-template-hash': '6f5d8c9b7d', tier: `t${i % 7}`, shard: `s${i % 64}` },
      annotations: { 'example.com/checksum': `sha256:${pad(i, 12)}0f1e2d3c4b5a69788796a5b4c3d2e1f0` },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'worker-6f5d8c9b7d',
          uid: '99999999-8888-4777-8666-555555555555',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      nodeName: `node-${pad(i % 500, 4)}`,
      serviceAccountName: 'default',
      restartPolicy: 'Always',
      containers: [
        {
          name: 'worker',
          image: 'registry.example.com/team/worker:3.14.1',
          ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
          env: [
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'REGION', value: 'eu-west-1' },
          ],
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
          imagePullPolicy: 'IfNotPresent',
        },
      ],
    },
    status: {
      phase: 'Running',
      podIP: `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
      hostIP: '192.168.1.10',
      startTime: at,
      qosClass: 'Burstable',
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: at },
        { type: 'PodScheduled', status: 'True', lastTransitionTime: at },
      ],
      containerStatuses: [
        {
          name: 'worker',
          ready: true,
          restartCount: 0,
          started: true,
          image: 'registry.example.com/team/worker:3.14.1',
          imageID: 'sha256:00112233445566778899aabbccddeeff',
          state: { running: { startedAt: at } },
        },
      ],
    },
  }
}

const POD = { kind: 'Pod', apiVersion: 'v1' }
const line = (type: string, object: object): Buffer => Buffer.from(`${JSON.stringify({ type, object })}\n`)
const all = Array.from({ length: OBJECTS }, (_, i) => i)

function listBody(): Buffer {
  const items = all.map((i) => JSON.stringify(pod(i, i + 1))).join(',')
  const metadata = `"metadata":{"resourceVersion":"${LIST_VERSION}"}`
  return Buffer.from(`{"kind":"PodList","apiVersion":"v1",${metadata},"items":[${items}]}`)
}

function streamBody(): Buffer {
  const metadata = {
    resourceVersion: String(LIST_VERSION),
    creationTimestamp: null,
    annotations: { 'k8s.io/initial-events-end': 'true' },
  }
  const events = all.map((i) => line('ADDED', { ...POD, ...pod(i, i + 1) }))
  return Buffer.concat([...events, line('BOOKMARK', { ...POD, metadata, spec: { containers: null }, status: {} })])
}

/** Each object once, in no order. */
function watchBody(): Buffer {
  const random = new SeededRandom(11)
  const order = [...all]
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0]
  }
  return Buffer.concat(order.map((i, at) => line('MODIFIED', { ...POD, ...pod(i, LIST_VERSION + 1 + at) })))
}

const json = { list: listBody(), stream: streamBody(), watch: watchBody() }
const protobuf =
  folder === undefined ? undefined : { list: readFileSync(`${folder}/list`), watch: readFileSync(`${folder}/watch`) }
const discovery = JSON.stringify({
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['list', 'watch', 'get', 'create'] },
  ],
})
const first = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${LIST_VERSION}"},"items":[]}`

/** In pieces that mind no line, no faster than the client reads. */
async function pump(answer: ServerResponse, body: Buffer): Promise<void> {
  for (let at = 0; at < body.length && !answer.destroyed; at += CHUNK)
    if (!answer.write(body.subarray(at, at + CHUNK))) await roomIn(answer)
}

function roomIn(answer: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      answer.off('drain', done).off('close', done)
      resolve()
    }
    answer.on('drain', done).on('close', done)
  })
}

/** The open watch, with the body that it will receive. */
let watch: { readonly answer: ServerResponse; readonly body: Buffer } | undefined
let go: (() => void) | undefined

const server = createServer((question, answer) => {
  const url = new URL(question.url ?? '/', 'http://here')
  const isProtobuf = question.headers.accept?.startsWith('application/vnd.kubernetes.protobuf') === true
  const bytes = isProtobuf && protobuf !== undefined ? { stream: json.stream, ...protobuf } : json
  const type = bytes === json ? 'application/json' : 'application/vnd.kubernetes.protobuf'
  if (url.pathname === '/go') {
    const begin = (): void => {
      go = undefined
      answer.end()
      if (watch !== undefined) void pump(watch.answer, watch.body)
    }
    if (watch === undefined || watch.answer.destroyed) go = begin
    else begin()
  } else if (url.pathname === '/api/v1') {
    answer.writeHead(200, { 'content-type': 'application/json' }).end(discovery)
  } else if (url.pathname !== '/api/v1/pods') {
    answer.writeHead(404).end()
  } else if (['true', '1'].includes(url.searchParams.get('watch') ?? '')) {
    answer.writeHead(200, { 'content-type': bytes === json ? type : `${type};stream=watch` })
    answer.flushHeaders()
    if (url.searchParams.get('sendInitialEvents') === 'true') {
      void pump(answer, bytes.stream)
      return
    }
    watch = { answer, body: bytes.watch }
    go?.()
  } else {
    const body = url.searchParams.get('limit') === '1' ? Buffer.from(first) : bytes.list
    answer.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body)
  }
})
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(JSON.stringify({ port: typeof address === 'object' && address !== null ? address.port : 0 }))
})
