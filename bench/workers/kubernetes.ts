// Lists 50 000 pods and follows 50 000 changes: node kubernetes.ts
// <floor|floor-streamed|listwatch|listwatch-streamed|client-node> <url> <objects>
import { get } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInformer } from 'listwatch'
import { kubernetesSource } from 'listwatch/kubernetes'

const [contestant = '', url = '', objects = ''] = process.argv.slice(2)
const OBJECTS = Number(objects)

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string }
}

/** Counts notifications, and resolves at a given number. */
class Counter {
  added = 0
  updated = 0
  readonly #wanted = new Map<'added' | 'updated', () => void>()

  readonly add = (): void => this.#count('added')
  readonly update = (): void => this.#count('updated')

  all(what: 'added' | 'updated'): Promise<void> {
    return new Promise((resolve) => {
      this.#wanted.set(what, resolve)
      if (this[what] >= OBJECTS) resolve()
    })
  }

  #count(what: 'added' | 'updated'): void {
    this[what]++
    if (this[what] === OBJECTS) this.#wanted.get(what)?.()
  }
}

const counter = new Counter()

/** What a source takes of a KubeConfig: importing one costs 70 MiB, which are not what is measured. */
const kubeConfig = {
  getCurrentContext: () => 'here',
  getCurrentCluster: () => ({ server: url }),
  applyToHTTPSOptions: async () => {},
}

function listwatch(streamingLists: boolean): void {
  const pods = createInformer({
    source: kubernetesSource<Pod>({ kubeConfig, kind: 'Pod', streamingLists }),
    indexes: (ix) => ({ namespace: ix.equal((pod) => pod.metadata.namespace) }),
    audit: false,
  })
  pods.subscribe({ add: counter.add, update: counter.update })
  pods.start()
}

async function clientNode(): Promise<void> {
  const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [{ name: 'here', server: url, skipTLSVerify: true }],
    users: [{ name: 'me', token: 'a-token' }],
    contexts: [{ name: 'here', cluster: 'here', user: 'me' }],
    currentContext: 'here',
  })
  const api = config.makeApiClient(CoreV1Api)
  const pods = makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces())
  pods.on('add', counter.add)
  pods.on('update', counter.update)
  pods.on('error', (error) => {
    throw error
  })
  await pods.start()
}

const store = new Map<string, Pod>()

function put(pod: Pod): void {
  store.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod)
}

/** No library at all: one JSON.parse of the list, one of each line, a Map. */
async function floor(): Promise<void> {
  await listWhole()
  await lines('/api/v1/pods?watch=true')
}

/** A function of its own, so that its objects can be released while the watch continues. */
async function listWhole(): Promise<void> {
  const chunks: Buffer[] = []
  const answer = await opened('/api/v1/pods')
  for await (const chunk of answer) chunks.push(chunk)
  const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly items: readonly Pod[] }
  for (const pod of items) {
    put(pod)
    counter.add()
  }
}

async function floorStreamed(): Promise<void> {
  await lines('/api/v1/pods?watch=true&sendInitialEvents=true')
}

async function lines(path: string): Promise<void> {
  let rest: Buffer | undefined
  for await (const chunk of await opened(path)) {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    let begin = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, begin)) {
      const { type, object } = JSON.parse(bytes.toString('utf8', begin, end)) as { type: string; object: Pod }
      begin = end + 1
      if (type === 'BOOKMARK') return void lines('/api/v1/pods?watch=true')
      put(object)
      if (type === 'ADDED') counter.add()
      else counter.update()
    }
    rest = begin === bytes.length ? undefined : bytes.subarray(begin)
  }
}

function opened(path: string): Promise<AsyncIterable<Buffer>> {
  return new Promise((resolve, reject) => {
    get(url + path, { agent: false }, resolve).on('error', reject)
  })
}

interface Phase {
  readonly ms: number
  readonly cpuMs: number
  readonly stallMs: number
  readonly peakMb: number
}

async function measured(begin: () => void | Promise<void>, end: Promise<void>): Promise<Phase> {
  globalThis.gc?.()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const cpu = process.cpuUsage()
  const start = performance.now()
  await begin()
  await end
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  // What held up the loop last is seen at the next turn of the timer.
  await new Promise((resolve) => setTimeout(resolve, 20))
  delay.disable()
  return { ms, cpuMs: (user + system) / 1_000, stallMs: delay.max / 1e6, peakMb: process.resourceUsage().maxRSS / 1024 }
}

const contestants: Readonly<Record<string, () => unknown>> = {
  floor,
  'floor-streamed': floorStreamed,
  listwatch: () => listwatch(false),
  'listwatch-streamed': () => listwatch(true),
  'client-node': clientNode,
}

const list = await measured(() => void contestants[contestant]?.(), counter.all('added'))
const watch = await measured(async () => void (await opened('/go')), counter.all('updated'))
console.log(JSON.stringify({ list, watch, size: counter.added + counter.updated }))
process.exit()
