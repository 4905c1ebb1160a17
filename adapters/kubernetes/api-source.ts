import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type { ListContext, SourceContext, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { repeat } from '../common/deadline-scope.js'
import { elementsOf, type Properties, propertiesOf } from '../common/properties.js'
import { Cluster } from './cluster.js'
import { Decoder } from './decode/decoder.js'
import { ClusterGuard, type WatchLease } from './history/cluster-guard.js'
import { assertResourceVersion, compareVersions } from './history/resource-version.js'
import { ResumeGuard } from './history/resume-guard.js'
import { SchemaOrigins, schemaVersion } from './history/schema.js'
import { assertHistory, readHead } from './history/server-head.js'
import { ApiRequests } from './http/api-requests.js'
import { ApiSession } from './http/api-session.js'
import type { Credentials } from './http/credentials.js'
import { findResource, type Resource } from './http/discovery.js'
import { nextArrival } from './http/response-body.js'
import type { KubernetesSourceOptions } from './kubernetes-options.js'
import { readList } from './list/list-reader.js'
import { PageLimit, readPages } from './list/paged-list.js'
import { EVERY_OBJECT, Shard } from './shard.js'
import type { KubernetesSource } from './types/kubernetes-source-type.js'
import type { FollowContext } from './watch/shared-watch.js'
import { WatchConnector } from './watch/watch-connector.js'

const MAX_OBJECT_BYTES = 16 * 1024 * 1024
/** A server sends a bookmark every 60 to 63 s, and a machine may be slow. */
const HEARTBEAT_MS = 75_000
/** A half-open connection is detected within this number of milliseconds. */
const PROBE_MS = 20_000
/** After this number of milliseconds a server that streams no lists is tried again: it may have been upgraded. */
const STREAM_RETRY_MS = 600_000
/** The longest watch that is requested, in milliseconds. */
const MAX_WATCH_MS = 86_400_000
/** Most objects of a page: they are parsed in one task of the event loop. */
const PAGE_EVENTS = 256
/** The kind with which the server returns objects without anything but metadata. */
const PARTIAL = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }

export function apiSource<T>(options: KubernetesSourceOptions, credentials: Credentials): KubernetesSource<T> {
  const { kubeConfig, apiVersion = 'v1', kind, plural, namespace, timeoutMs = 15_000 } = options
  const { heartbeatMs = HEARTBEAT_MS, maxObjectBytes = MAX_OBJECT_BYTES } = options
  const { labelSelector, metadataOnly = false, pageSize: mostOfRequest = 500 } = options
  const shard = options.shard && new Shard(options.shard)
  const cluster = Cluster.of(kubeConfig)
  const retryAfter = cluster.retryAfterGate(JSON.stringify([apiVersion, kind, plural, namespace]))
  let found: Resource | undefined
  /** When lists are streamed again, after the server did not stream one to its end. */
  let streamRetryAt = 0
  /** The arrival number at which the last list began. */
  let listedAt = 0
  const clusterGuard = new ClusterGuard()
  const resumeGuard = new ResumeGuard()
  const pageLimit = new PageLimit()
  const schemas = new SchemaOrigins()

  const restore = (mirror: object, { after, resumeState = '{}' }: WatchContext): void => {
    const { clusterId, schema, deletedAt } = savedState(resumeState)
    clusterGuard.restore(after, typeof clusterId === 'string' ? clusterId : undefined)
    schemas.recordList(mirror, typeof schema === 'string' ? schema : undefined)
    resumeGuard.deletes.restore(mirror, elementsOf(deletedAt))
  }

  const prepareWatch = async (context: WatchContext, { continueOn }: WatchLease): Promise<ApiRequests> => {
    const { after, clock } = context
    const session = open(context)
    try {
      const requests = await requestsIn(session)
      continueOn(credentials.clusterId)
      resumeGuard.assertNotRemoved(after)
      if (resumeGuard.takeVerified(after) && context.isUnconfirmed !== true) return requests
      await assertHistory(session, requests, after, continueOn)
      resumeGuard.recordContact(clock)
      const expired = schemas.mismatch(context.mirror ?? source, await schemaVersion(session, requests.resource))
      if (expired !== undefined) throw expired
      const contents = resumeGuard.isAuditDue(clock.now())
      if (context.isUnconfirmed === true || contents)
        context.requestAudit?.(
          'the API server was unreachable for long enough to be restored with a history that has passed our version',
          { contents },
        )
      return requests
    } finally {
      session.close()
    }
  }

  /** Watches with the same key deliver the same objects, and can be shared. */
  const sharingKeyOf = (requests: ApiRequests, schema: string | undefined): string => {
    const { maxWatchMs, probeMs } = options
    const { path, accept } = requests.watch({})
    return JSON.stringify([
      credentials.clusterId,
      path,
      accept,
      schema,
      maxWatchMs,
      probeMs,
      heartbeatMs,
      timeoutMs,
      maxObjectBytes,
    ])
  }

  const open = ({ signal, clock }: Pick<SourceContext, 'signal' | 'clock'>): ApiSession =>
    new ApiSession(credentials, { signal, clock, timeoutMs, retryAfter })
  const requestsIn = async (session: ApiSession): Promise<ApiRequests> => {
    session.assertOpen()
    const needsSelector = shard !== undefined && labelSelector === undefined
    const { fieldSelector = needsSelector ? EVERY_OBJECT : undefined } = options
    const resource = found ?? (await findResource(session, { apiVersion, kind, plural }))
    found = resource
    if (namespace !== undefined && !resource.isNamespaced) {
      const message = `${resource.plural} are in no namespace (leave out namespace: "${namespace}")`
      throw new SourceError(message, { code: 'PROTOCOL' })
    }
    const shardSelector = shard?.selector
    return new ApiRequests(resource, { namespace, labelSelector, fieldSelector, shardSelector, metadataOnly })
  }

  const decoderFor = ({ resource }: ApiRequests): Decoder<T> => {
    const { stripManagedFields = true } = options
    const type = metadataOnly ? PARTIAL : resource
    return new Decoder<T>({
      kind: type.kind,
      apiVersion: type.apiVersion,
      stripManagedFields,
      metadataOnly,
      maxObjectBytes,
    })
  }

  const lifeSeconds = (chance: number): number => {
    const { maxWatchMs = 600_000 } = options
    return Math.max(1, Math.floor((Math.min(maxWatchMs, MAX_WATCH_MS) / 1_000) * (0.5 + chance / 2)))
  }

  const recordError = (error: unknown, clock?: Clock, silentSince?: number): unknown => {
    resumeGuard.recordError(error, clock, silentSince)
    if (error instanceof SourceError && error.code === 'NOT_FOUND') found = undefined
    return error
  }

  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : []
  const resourceName = `${plural ?? kind}${group === undefined ? '' : `.${group}`}`
  const source: KubernetesSource<T> = {
    name: `kubernetes:${namespace === undefined ? '' : `${namespace}/`}${resourceName}`,
    selection: selectionOf(options),
    // Also without their data: kubectl copies that to an annotation.
    isSensitive: apiVersion === 'v1' && (kind === 'Secret' || plural === 'secrets'),
    heartbeatMs,
    async *list(context) {
      const { pageSize, random, clock, floor, signal } = context
      const { removal } = resumeGuard
      listedAt = nextArrival()
      const session = open(context)
      const stopReporting = reportProgress(context)
      try {
        const requests = await requestsIn(session)
        // Before the objects: if the schema changes during the list, the objects are read again.
        const schema = await schemaVersion(session, requests.resource)
        let clusterId: string | undefined
        let version: Version | undefined
        const assertListHistory = (after: Version): Promise<Version> =>
          assertHistory(session, requests, after, (id) => clusterGuard.beginList(id, undefined, signal))
        const pages = readList({
          session,
          requests,
          decoder: decoderFor(requests),
          isStreamed: (options.streamingLists ?? true) && clock.now() >= streamRetryAt,
          limit: Math.min(mostOfRequest, pageSize),
          pageLimit,
          pageSize: Math.min(pageSize, PAGE_EVENTS),
          metadataOnly,
          maxObjectBytes,
          timeoutMs,
          timeoutSeconds: lifeSeconds(random.next()),
          random,
          onPageError: (error) => recordError(error, clock),
          assertHistory: assertListHistory,
          onNotStreamed: ({ cause }) => {
            recordError(cause, clock)
            streamRetryAt = clock.now() + STREAM_RETRY_MS
          },
        })
        for await (const page of pages) {
          if (clusterId === undefined) clusterGuard.beginList(session.clusterId, floor, signal)
          clusterId ??= session.clusterId
          if (session.clusterId !== clusterId || credentials.clusterId !== clusterId) throw clusterChangedDuringList()
          // The list ends before the floor: this server is behind, or the history was rewound.
          if (page.version !== undefined && floor !== undefined && compareVersions(page.version, floor) < 0)
            await assertListHistory(floor)
          shard?.check(page.events)
          resumeGuard.recordContact(clock)
          version = page.version ?? version
          yield page
        }
        if (credentials.clusterId !== clusterId) throw clusterChangedDuringList()
        clusterGuard.completeList(clusterId, floor, version)
        schemas.recordList(context.mirror ?? source, schema)
        if (version !== undefined) resumeGuard.recordList(version, removal)
      } catch (error) {
        throw recordError(error, clock)
      } finally {
        stopReporting()
        session.close()
      }
    },
    async *watch(context) {
      const { after, random, clock } = context
      assertResourceVersion(after)
      const mirror = context.mirror ?? source
      if (context.isUnconfirmed === true) restore(mirror, context)
      const lease = clusterGuard.lease(context.signal, after)
      const removeWatch = schemas.addWatch(mirror, lease)
      let at = after
      let silentSince: number | undefined
      let failure: unknown
      const followContext: FollowContext = {
        ...context,
        signal: lease.signal,
        onBatch: (batch) => {
          shard?.check(batch.events)
          resumeGuard.deletes.record(mirror, batch)
        },
        onAdvance: (version) => {
          at = version
          lease.advanceTo(version)
        },
        onSilence: (since) => {
          silentSince = since
        },
      }
      try {
        const requests = await prepareWatch(context, lease)
        const timeoutSeconds = lifeSeconds(random.next())
        const key = sharingKeyOf(requests, schemas.of(mirror))
        const from = resumeGuard.deletes.readFrom(mirror, after)
        const resumePoint = { after, from, listedAt }
        const end = yield* cluster.follow(key, resumePoint, decoderFor(requests), followContext, {
          clock,
          connector: new WatchConnector((signal) => open({ signal, clock }), requests, lease),
          maxObjectBytes,
          heartbeatMs,
          probeMs: options.probeMs ?? PROBE_MS,
          timeoutSeconds,
        })
        resumeGuard.recordWatchEnd(at, end)
      } catch (error) {
        failure = error
        throw resumeGuard.classify(recordError(error, clock, silentSince), after)
      } finally {
        removeWatch()
        lease.release(failure)
      }
    },
    /** What the history checks of a later process compare with. */
    resumeState(mirror) {
      const deletedAt = resumeGuard.deletes.of(mirror)
      return JSON.stringify({ clusterId: credentials.clusterId, schema: schemas.of(mirror), deletedAt })
    },
    async *versions(context) {
      const session = open(context)
      const stopReporting = reportProgress(context)
      const assertCluster = (id: string | undefined): void => clusterGuard.assertCluster(id)
      try {
        const requests = await requestsIn(session)
        const limit = Math.min(mostOfRequest, context.pageSize)
        const reading = {
          session,
          requests,
          decoder: decoderFor(requests),
          limit,
          pageLimit,
          pageSize: limit,
          metadataOnly: true,
          maxObjectBytes,
          random: context.random,
          onPageError: (error: unknown) => void recordError(error),
          assertHistory: (after: Version) => assertHistory(session, requests, after, assertCluster),
        }
        const assertNotRewound = clusterGuard.beginRead()
        for await (const { events, version } of readPages(reading)) {
          assertCluster(session.clusterId)
          shard?.check(events)
          const keys = events.flatMap(({ key, version: own }) =>
            key === undefined || own === undefined ? [] : { key, version: own },
          )
          if (version !== undefined) assertNotRewound(version)
          yield version === undefined ? { keys } : { keys, version }
        }
        // Keys and versions do not show a change of the schema.
        schemas.observe(await schemaVersion(session, requests.resource))
      } catch (error) {
        throw recordError(error)
      } finally {
        stopReporting()
        session.close()
      }
    },
    async head(context) {
      const session = open(context)
      try {
        const requests = await requestsIn(session)
        const assertNotRewound = clusterGuard.beginRead()
        const version = await readHead(session, requests)
        clusterGuard.assertCluster(session.clusterId)
        assertNotRewound(version)
        return version
      } catch (error) {
        throw recordError(error)
      } finally {
        session.close()
      }
    },
    hasReached(at, mark) {
      assertResourceVersion(at)
      assertResourceVersion(mark)
      return compareVersions(at, mark) >= 0
    },
  }
  return source
}

/** Only a list helps: the state stays as it is, however often the watch is opened. */
function savedState(text: string): Properties {
  try {
    return propertiesOf(JSON.parse(text))
  } catch (cause) {
    throw new SourceError('the saved state is not one of this version of the source', {
      code: 'VERSION_EXPIRED',
      cause,
    })
  }
}

/** All options, except those that say how the server is asked. */
function selectionOf(options: KubernetesSourceOptions): string {
  const { kubeConfig: _1, streamingLists: _2, pageSize: _3, maxWatchMs: _4, ...rest } = options
  const { heartbeatMs: _5, probeMs: _6, timeoutMs: _7, ...selecting } = rest
  return JSON.stringify(Object.entries(selecting).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function clusterChangedDuringList(): SourceError {
  return new SourceError('the kubeConfig switched to another cluster during the list', { code: 'UNAVAILABLE' })
}

/** The core allows 30 s without a page. Credentials and requests have longer deadlines. In milliseconds. */
const REPORT_MS = 10_000

/** Reports progress to the core until the result is called. The caller limits each of its own waits. */
function reportProgress(context: ListContext): () => void {
  return repeat(context.clock, REPORT_MS, () => context.alive?.())
}
