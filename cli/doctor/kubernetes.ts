import type { KubeConfig } from '@kubernetes/client-node'
import {
  ApiSession,
  apiStatusIn,
  Credentials,
  groupPath,
  isWatchable,
  resourcesOf,
} from '../../adapters/kubernetes/internal.js'
import { systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import { formatDuration } from '../args/duration.js'
import { fieldOf, listIn } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { addressOf, loadConfig } from '../sources/open-kubernetes.js'
import { type ResourceChoice, resolveResource } from '../sources/resolve-resource.js'
import type { SourceOptions } from '../sources/source-types.js'
import { type Check, type Diagnose, errorCheck, leftMsOf, runChecks, warningCheck } from './check.js'
import { type Webhook, type WebhooksContext, webhookChecks, webhooksOf } from './kubernetes-webhooks.js'

const TIMEOUT_MS = 10_000
const SLOW_MS = 1_000
const SOON_MS = 3_600_000

/** The oldest version, because of discovery in one response, and the version of the tests. */
const [OLDEST_MINOR, TESTED_MINOR] = [30, 37]
/** Since this version a list moves the watch cache to the state of the store. */
const CONSISTENT_CACHE_MINOR = 31
/** How long to wait for any write to the cluster. Each API server renews its own lease every 10 s. */
const MOVE_MS = 15_000
const LOOK_MS = 250
/** How long the watches are that wait for a bookmark, in seconds. A server that is busy may miss the first. */
const BOOKMARK_SECONDS = [3, 8]
const BOOKMARK = '{"type":"BOOKMARK"'

/** Checks that run at a time: some wait for seconds, and each waits for a server that does not answer. */
const AT_ONCE = 8
const STRIDE_SECONDS = 2
const MOST_VERSIONS = 100

/** Requests all APIs of the server with their state, in one response (Kubernetes 1.30 and later). */
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

interface KubernetesContext extends WebhooksContext {
  readonly flags: SourceOptions
  readonly config: KubeConfig
  readonly session: ApiSession
  readonly namespace: string | undefined
  readonly name: string
  /** The resource, or why there is none. */
  readonly resource: ResourceChoice | CliError
}

export const diagnoseKubernetes: Diagnose<SourceOptions> = async (url, flags, onProgress) => {
  const { namespace, resource: name } = addressOf(url)
  const config = await loadConfig(flags.context)
  const { signal } = new AbortController()
  const access = { signal, clock: systemClock, timeoutMs: TIMEOUT_MS, maxSockets: 2 * AT_ONCE }
  const session = new ApiSession(new Credentials(config), access)
  try {
    await assertConnection(session)
    const resource = await resolveResource(config, name, namespace).catch((error: unknown) => {
      if (error instanceof CliError) return error
      throw error
    })
    let requested: Promise<readonly Webhook[]> | undefined
    const webhooks = (): Promise<readonly Webhook[]> => {
      requested ??= webhooksOf(session, namespace, resource)
      return requested
    }
    const context = { flags, config, session, namespace, name, resource, webhooks }
    return await runChecks(kubernetesChecks, context, { onProgress, atOnce: AT_ONCE })
  } finally {
    session.close()
  }
}

async function assertConnection(session: ApiSession): Promise<void> {
  try {
    await session.json({ verb: 'get', path: '/version' })
  } catch (error) {
    if (apiStatusIn(error)?.code === 403) return
    throw error instanceof SourceError ? new CliError(oneLine(error)) : error
  }
}

export const kubernetesChecks: readonly Check<KubernetesContext>[] = [
  errorCheck('readiness', async ({ session }) => {
    const failed = await failedProbes(session)
    if (failed === undefined) return undefined
    return { problem: `the API server is not ready: ${failed}`, remedy: 'run: kubectl get --raw "/readyz?verbose"' }
  }),
  warningCheck('server-version', async ({ session }) => {
    const version = await session.json({ verb: 'get', path: '/version' })
    const minor = minorOf(version)
    const tested = `this program was tested with 1.${TESTED_MINOR}`
    if (minor < OLDEST_MINOR)
      return {
        problem: `the server is Kubernetes 1.${minor}, older than 1.${OLDEST_MINOR}; ${tested}`,
        remedy: 'upgrade the cluster',
      }
    // As for kubectl, a difference of one minor version is supported.
    if (minor > TESTED_MINOR + 1)
      return { problem: `the server is Kubernetes 1.${minor}; ${tested}`, remedy: 'upgrade listwatch' }
    return undefined
  }),
  errorCheck('resource', async ({ resource }) => {
    if (!(resource instanceof CliError)) return undefined
    const [problem = '', remedy = ''] = resource.message.split('; see: ')
    return { problem, remedy: `run: ${remedy}` }
  }),
  errorCheck('verbs', async ({ resource, session }) => {
    if (resource instanceof CliError) return undefined
    const served = (await resourcesOf(session, resource.apiVersion)).find(({ name }) => name === resource.plural)
    if (served === undefined || isWatchable(served)) return undefined
    return {
      problem: `${resource.plural} can be used with ${served.verbs.join(', ')} only, and not listed and watched`,
      remedy: 'name another resource; kubectl api-resources --verbs=list,watch has all',
    }
  }),
  errorCheck('list-right', (context) => findMissingRight(context, 'list', 'limit=1')),
  errorCheck('watch-right', (context) => findMissingRight(context, 'watch', 'watch=true&timeoutSeconds=1')),
  warningCheck('streamed-lists', async (context) => {
    const query =
      'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1'
    const error = await request(context, 'watch', query)
    if (![400, 422].includes(apiStatusIn(error)?.code ?? 0)) return undefined
    return {
      problem: 'the API server streams no lists, so a list of many objects costs it and the network more',
      remedy: 'enable its feature gate WatchList (on by default since Kubernetes 1.34)',
    }
  }),
  warningCheck('bookmarks', async (context) => {
    const version = await context.session.json({ verb: 'get', path: '/version' })
    if (!(minorOf(version) >= CONSISTENT_CACHE_MINOR)) return undefined
    for (const seconds of BOOKMARK_SECONDS) if ((await sendsBookmark(context, seconds)) !== false) return undefined
    return {
      problem:
        'the API server sends no bookmarks, so each wait for a version lists keys and versions while nothing changes',
      remedy: 'enable its watch cache: --watch-cache, --watch-cache-sizes; Events never have one',
    }
  }),
  {
    ...warningCheck('latency', async (context) => {
      const before = systemClock.now()
      await request(context, 'list', 'limit=1')
      const tookMs = systemClock.now() - before
      if (tookMs <= SLOW_MS) return undefined
      return {
        problem: `a list of one object took ${formatDuration(tookMs)}`,
        remedy: 'see: kubectl get --raw /metrics | grep apiserver_request_duration, and the network between',
      }
    }),
    runsAlone: true,
  },
  warningCheck('discovery', async ({ session }) => {
    const answer = await session.json({ verb: 'get', path: '/apis', accept: DISCOVERY })
    const stale = listIn(answer, 'items').flatMap((group) =>
      listIn(group, 'versions')
        .filter((version) => fieldOf(version, 'freshness') === 'Stale')
        .map((version) => `${String(fieldOf(version, 'version'))}.${String(fieldOf(group, 'metadata.name'))}`),
    )
    if (stale.length === 0) return undefined
    return {
      problem: `the servers of the APIs ${stale.join(', ')} do not answer, so their resources are not found`,
      remedy: `run: kubectl describe apiservice ${stale[0]}`,
    }
  }),
  ...webhookChecks,
  warningCheck('version-stride', async (context) => {
    const { versions, changes } = await countVersions(context)
    if (versions <= MOST_VERSIONS * Math.max(1, changes)) return undefined
    return {
      problem: `the version of the cluster advanced by ${versions} in ${STRIDE_SECONDS} s, and ${changes} of the changes were in this list: the others use up its history, so a mirror that was disconnected lists again`,
      remedy:
        'see: kubectl get --raw /metrics | grep etcd_requests_total, and give these resources an etcd of their own: --etcd-servers-overrides',
    }
  }),
  warningCheck('token-expiry', async ({ config }) => {
    const { token, exec, authProvider } = config.getCurrentUser() ?? {}
    const leftMs = leftMsOf(token)
    const isRenewed = exec !== undefined || authProvider !== undefined
    if (isRenewed || !(leftMs < SOON_MS)) return undefined
    return {
      problem: `the token of the kubeconfig expires in ${formatDuration(Math.max(0, leftMs))}, and is not renewed`,
      remedy: 'use an exec plugin, a token file, or the service account of a pod',
    }
  }),
  warningCheck('unverified-server', async ({ config }) => {
    if (config.getCurrentCluster()?.skipTLSVerify !== true) return undefined
    return {
      problem: 'the certificate of the server is not verified, so any server may answer and receive the token',
      remedy: 'replace insecure-skip-tls-verify in the kubeconfig by certificate-authority-data',
    }
  }),
]

async function findMissingRight(context: KubernetesContext, verb: 'list' | 'watch', query: string) {
  const error = await request(context, verb, query)
  if (apiStatusIn(error)?.code !== 403) return undefined
  const { resource, namespace } = context
  const plural = resource instanceof CliError ? context.name : resource.plural
  const role = namespace === undefined ? 'clusterrole' : 'role'
  const place = namespace === undefined ? '' : ` -n ${namespace}`
  return {
    problem: oneLine(error),
    remedy: `run: kubectl create ${role} listwatch --verb=list,watch --resource=${plural}${place}, and bind it with kubectl create ${role}binding`,
  }
}

/**
 * Whether a watch of this many seconds receives a bookmark. A server with a watch cache sends one two seconds before it
 * ends a watch, if its cache is newer than the start of the watch. So the watch begins at a version after which the
 * cache has moved: lists since Kubernetes 1.31 move it. Undefined if that cannot be found out.
 */
async function sendsBookmark(context: KubernetesContext, seconds: number): Promise<boolean | undefined> {
  const { session, resource } = context
  if (resource instanceof CliError) return undefined
  // The selector keeps all objects out of the responses.
  const send = (verb: 'list' | 'watch', query: string) =>
    requestOf({ ...context, flags: {} }, resource, verb, `${query}&fieldSelector=metadata.name%3Dlistwatch-doctor`)
  const version = async (): Promise<string> =>
    String(fieldOf(await session.json(send('list', '')), 'metadata.resourceVersion'))
  try {
    const from = await version()
    for (let tries = 0; (await version()) === from; tries++) {
      if (tries === MOVE_MS / LOOK_MS) return undefined
      await session.sleep(LOOK_MS)
    }
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${from}&timeoutSeconds=${seconds}`
    const body = await session.open(send('watch', query))
    let text = ''
    for (;;) {
      const data = await session.take(body)
      if (data === undefined || typeof data === 'symbol') return false
      text = text.slice(-BOOKMARK.length) + Buffer.concat(data).toString('latin1')
      if (!text.includes(BOOKMARK)) continue
      body.destroy(new Error('no more is needed'))
      return true
    }
  } catch (error) {
    if (apiStatusIn(error) === undefined) throw error
    return undefined
  }
}

/**
 * How far the version advances in `STRIDE_SECONDS`, and how many changes of the list a watch receives meanwhile. The
 * version is a revision of etcd, which counts the writes of all resources. Zeros if the server has other versions.
 */
async function countVersions(context: KubernetesContext): Promise<{ versions: number; changes: number }> {
  const { session, resource } = context
  const none = { versions: 0, changes: 0 }
  if (resource instanceof CliError) return none
  const version = async (): Promise<string> => {
    const list = await session.json(requestOf(context, resource, 'list', 'limit=1'))
    return String(fieldOf(list, 'metadata.resourceVersion'))
  }
  try {
    const from = await version()
    const query = `watch=true&resourceVersion=${from}&timeoutSeconds=${STRIDE_SECONDS}`
    const body = await session.open(requestOf(context, resource, 'watch', query))
    let changes = 0
    for (;;) {
      const data = await session.take(body)
      if (data === undefined || typeof data === 'symbol') break
      for (const part of data) for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) changes++
    }
    const versions = Number(await version()) - Number(from)
    return Number.isSafeInteger(versions) ? { versions, changes } : none
  } catch (error) {
    if (apiStatusIn(error) === undefined) throw error
    return none
  }
}

/** Reads the beginning of a response. Returns the error if the server rejects the request; throws without an answer. */
async function request(context: KubernetesContext, verb: 'list' | 'watch', query: string): Promise<unknown> {
  const { session, resource } = context
  if (resource instanceof CliError) return undefined
  try {
    const body = await session.open(requestOf(context, resource, verb, query))
    body.destroy(new Error('no more is needed'))
    return undefined
  } catch (error) {
    if (apiStatusIn(error) === undefined) throw error
    return error
  }
}

function requestOf(
  { namespace, flags }: KubernetesContext,
  { apiVersion, plural }: ResourceChoice,
  verb: 'list' | 'watch',
  query: string,
) {
  const path = `${groupPath(apiVersion)}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`
  const parameters = new URLSearchParams(query)
  if (flags.selector !== undefined) parameters.set('labelSelector', flags.selector)
  if (flags.fieldSelector !== undefined) parameters.set('fieldSelector', flags.fieldSelector)
  return { verb, plural, namespace, path: `${path}?${parameters}` }
}

/** Returns NaN if the server has no such version. Some vendors append a plus sign. */
function minorOf(version: unknown): number {
  return Number.parseInt(String(fieldOf(version, 'minor')), 10)
}

/** The failed parts of the server's readiness probe; undefined if it is ready, or if the user may not see that. */
async function failedProbes(session: ApiSession): Promise<string | undefined> {
  try {
    const body = await session.open({ verb: 'get', path: '/readyz' })
    body.destroy(new Error('no more is needed'))
    return undefined
  } catch (error) {
    const status = apiStatusIn(error)
    if (status === undefined) throw error
    if (status.code < 500) return undefined
    const failed = Array.from(status.message.matchAll(/\[-\](\S+)/g), ([, name]) => name)
    return failed.length === 0 ? oneLine(error) : failed.join(', ')
  }
}
