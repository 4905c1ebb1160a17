// An API server that generates pods of about 10 KB as it sends them: node kubernetes-memory-server.ts <objects>
import { createServer, type ServerResponse } from 'node:http'

const OBJECTS = Number(process.argv[2] ?? 1_000_000)
const LIST_VERSION = OBJECTS + 1
/** The number of pods that one ReplicaSet owns. */
const REPLICAS = 50
const PER_NAMESPACE = 500
const NODES = 5_000
const CHUNK_PODS = 8

const pad = (n: number, width: number): string => String(n).padStart(width, '0')
const POD = { kind: 'Pod', apiVersion: 'v1' }
const AT = '2026-01-02T03:04:05Z'

/** A container as Helm charts and admission webhooks write it: many small fields. */
function container(name: string): object {
  const env = Array.from({ length: 20 }, (_, i) => ({
    name: `${name.toUpperCase()}_SETTING_${i}`,
    value: `value ${i}`,
  }))
  const probe = (path: string): object => ({
    httpGet: { path, port: 8080, scheme: 'HTTP' },
    initialDelaySeconds: 5,
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })
  return {
    name,
    image: `registry.example.com/team/${name}:3.14.1`,
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: [...env, { name: 'POD_IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } }],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    volumeMounts: Array.from({ length: 6 }, (_, i) => ({
      name: `config-${i}`,
      readOnly: true,
      mountPath: `/etc/c${i}`,
    })),
    livenessProbe: probe('/healthz'),
    readinessProbe: probe('/readyz'),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    securityContext: { capabilities: { drop: ['ALL'] }, runAsNonRoot: true, allowPrivilegeEscalation: false },
  }
}

const NAMES = ['worker', 'proxy', 'agent']
const SPEC = {
  volumes: Array.from({ length: 6 }, (_, i) => ({
    name: `config-${i}`,
    configMap: { name: `c-${i}`, defaultMode: 420 },
  })),
  containers: NAMES.map(container),
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  serviceAccountName: 'default',
  schedulerName: 'default-scheduler',
  tolerations: ['not-ready', 'unreachable'].map((name) => ({
    key: `node.kubernetes.io/${name}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
}
const STATUS = {
  phase: 'Running',
  hostIP: '192.168.1.10',
  startTime: AT,
  qosClass: 'Burstable',
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: AT,
  })),
  containerStatuses: NAMES.map((name) => ({
    name,
    state: { running: { startedAt: AT } },
    lastState: {},
    ready: true,
    restartCount: 0,
    started: true,
    image: `registry.example.com/team/${name}:3.14.1`,
    imageID: 'sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff',
  })),
}
/** The same in each pod, so that generating costs little. */
const REST = Buffer.from(`${JSON.stringify(SPEC).slice(1)},"status":${JSON.stringify(STATUS)}}}\n`)

/** A line of a streamed list. */
function head(i: number): string {
  const set = Math.floor(i / REPLICAS)
  const hash = (Math.imul(set + 1, 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
  const app = `service-${pad(set, 5)}`
  const metadata = {
    name: `${app}-${hash}-${(Math.imul(i + 1, 2_654_435_761) >>> 0).toString(36).slice(-5).padStart(5, '0')}-${i}`,
    generateName: `${app}-${hash}-`,
    namespace: `team-${pad(Math.floor(i / PER_NAMESPACE), 4)}`,
    uid: `7c1e5a90-4b2d-4f68-9a37-${pad(i, 12)}`,
    resourceVersion: String(i + 1),
    creationTimestamp: AT,
    labels: {
      'app.kubernetes.io/name': app,
      'app.kubernetes.io/part-of': `product-${set % 40}`,
      'app.kubernetes.io/managed-by': 'Helm',
      'pod-template-hash': hash,
      tier: `tier-${set % 7}`,
    },
    annotations: { 'example.com/checksum': `sha256:${pad(i, 12)}0f1e2d3c4b5a69788796a5b4c3d2e1f0` },
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: `${app}-${hash}`,
        uid: `99999999-8888-4777-8666-${pad(set, 12)}`,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  }
  const object = JSON.stringify({ ...POD, metadata }).slice(0, -1)
  return `{"type":"ADDED","object":${object},"spec":{"nodeName":"node-${pad(i % NODES, 4)}.eu-west-1",`
}

const END = JSON.stringify({
  type: 'BOOKMARK',
  object: {
    ...POD,
    metadata: {
      resourceVersion: String(LIST_VERSION),
      creationTimestamp: null,
      annotations: { 'k8s.io/initial-events-end': 'true' },
    },
    spec: { containers: null },
    status: {},
  },
})

/** No faster than the client reads. */
async function streamTo(answer: ServerResponse): Promise<void> {
  for (let at = 0; at < OBJECTS && !answer.destroyed; at += CHUNK_PODS) {
    const parts: Buffer[] = []
    for (let i = at; i < Math.min(OBJECTS, at + CHUNK_PODS); i++) parts.push(Buffer.from(head(i)), REST)
    if (!answer.write(Buffer.concat(parts))) await drained(answer)
  }
  answer.write(`${END}\n`)
}

function drained(answer: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      answer.off('drain', done).off('close', done)
      resolve()
    }
    answer.on('drain', done).on('close', done)
  })
}

const discovery = JSON.stringify({
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['list', 'watch', 'get', 'create'] },
  ],
})
const empty = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${LIST_VERSION}"},"items":[]}`

const server = createServer((question, answer) => {
  const url = new URL(question.url ?? '/', 'http://here')
  answer.setHeader('content-type', 'application/json')
  if (url.pathname === '/api/v1') answer.end(discovery)
  else if (url.pathname !== '/api/v1/pods') answer.writeHead(404).end()
  else if (!['true', '1'].includes(url.searchParams.get('watch') ?? '')) answer.end(empty)
  else {
    answer.flushHeaders()
    // Another watch stays open, and nothing changes.
    if (url.searchParams.get('sendInitialEvents') === 'true') void streamTo(answer)
  }
})
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const bytes = Buffer.byteLength(head(0)) + REST.length
  console.log(JSON.stringify({ port: typeof address === 'object' && address !== null ? address.port : 0, bytes }))
})
