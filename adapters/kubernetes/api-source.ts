import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type {
  ListContext,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
} from '../../src/contract/source.js'
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
import { ApiSession, type ApiSessionOptions } from './http/api-session.js'
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

export class ApiSource<T> implements KubernetesSource<T> {
  readonly name: string
  readonly selection: string
  readonly isSensitive: boolean
  readonly heartbeatMs: number
  readonly #options: KubernetesSourceOptions
  readonly #shard: Shard | undefined
  readonly #cluster: Cluster
  readonly #credentials: Credentials
  readonly #sessionOptions: Required<Pick<ApiSessionOptions, 'timeoutMs' | 'retryAfter'>>
  readonly #maxObjectBytes: number
  #resource: Resource | undefined
  /** When lists are streamed again, after the server did not stream one to its end. */
  #streamRetryAt = 0
  /** The arrival number at which the last list began. */
  #listedAt = 0
  readonly #clusterGuard = new ClusterGuard()
  readonly #resumeGuard = new ResumeGuard()
  readonly #pageLimit = new PageLimit()
  readonly #schemas = new SchemaOrigins()

  constructor(options: KubernetesSourceOptions, credentials: Credentials) {
    const { kubeConfig, apiVersion = 'v1', kind, plural, namespace, timeoutMs = 15_000 } = options
    this.#options = options
    this.#shard = options.shard && new Shard(options.shard)
    this.#cluster = Cluster.of(kubeConfig)
    this.#credentials = credentials
    const retryAfter = this.#cluster.retryAfterGate(JSON.stringify([apiVersion, kind, plural, namespace]))
    this.#sessionOptions = { timeoutMs, retryAfter }
    this.#maxObjectBytes = options.maxObjectBytes ?? MAX_OBJECT_BYTES
    this.heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS
    const [group] = apiVersion.includes('/') ? apiVersion.split('/') : []
    const resource = `${plural ?? kind}${group === undefined ? '' : `.${group}`}`
    this.selection = selectionOf(options)
    // Also without their data: kubectl copies that to an annotation.
    this.isSensitive = apiVersion === 'v1' && (kind === 'Secret' || plural === 'secrets')
    this.name = `kubernetes:${namespace === undefined ? '' : `${namespace}/`}${resource}`
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const { pageSize, random, clock, floor, signal } = context
    const { removal } = this.#resumeGuard
    this.#listedAt = nextArrival()
    const session = this.#session(context)
    const stopReporting = reportProgress(context)
    try {
      const requests = await this.#requests(session)
      // Before the objects: if the schema changes during the list, the objects are read again.
      const schema = await schemaVersion(session, requests.resource)
      let clusterId: string | undefined
      let version: Version | undefined
      const assertListHistory = (after: Version): Promise<Version> =>
        assertHistory(session, requests, after, (id) => this.#clusterGuard.beginList(id, undefined, signal))
      const pages = readList({
        session,
        requests,
        decoder: this.#decoder(requests),
        isStreamed: (this.#options.streamingLists ?? true) && clock.now() >= this.#streamRetryAt,
        limit: Math.min(this.#options.pageSize ?? 500, pageSize),
        pageLimit: this.#pageLimit,
        pageSize: Math.min(pageSize, PAGE_EVENTS),
        metadataOnly: this.#options.metadataOnly ?? false,
        maxObjectBytes: this.#maxObjectBytes,
        timeoutMs: this.#sessionOptions.timeoutMs,
        timeoutSeconds: this.#timeoutSeconds(random.next()),
        random,
        onPageError: (error) => this.#recordError(error, clock),
        assertHistory: assertListHistory,
        onNotStreamed: ({ cause }) => {
          this.#recordError(cause, clock)
          this.#streamRetryAt = clock.now() + STREAM_RETRY_MS
        },
      })
      for await (const page of pages) {
        if (clusterId === undefined) this.#clusterGuard.beginList(session.clusterId, floor, signal)
        clusterId ??= session.clusterId
        if (session.clusterId !== clusterId || this.#credentials.clusterId !== clusterId)
          throw clusterChangedDuringList()
        // The list ends before the floor: this server is behind, or the history was rewound.
        if (page.version !== undefined && floor !== undefined && compareVersions(page.version, floor) < 0)
          await assertListHistory(floor)
        this.#shard?.check(page.events)
        this.#resumeGuard.recordContact(clock)
        version = page.version ?? version
        yield page
      }
      if (this.#credentials.clusterId !== clusterId) throw clusterChangedDuringList()
      this.#clusterGuard.completeList(clusterId, floor, version)
      this.#schemas.recordList(context.mirror ?? this, schema)
      if (version !== undefined) this.#resumeGuard.recordList(version, removal)
    } catch (error) {
      throw this.#recordError(error, clock)
    } finally {
      stopReporting()
      session.close()
    }
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const { after, random, clock } = context
    assertResourceVersion(after)
    const mirror = context.mirror ?? this
    if (context.isUnconfirmed === true) this.#restore(mirror, context)
    const lease = this.#clusterGuard.lease(context.signal, after)
    const removeWatch = this.#schemas.addWatch(mirror, lease)
    let at = after
    let silentSince: number | undefined
    let failure: unknown
    const followContext: FollowContext = {
      ...context,
      signal: lease.signal,
      onBatch: (batch) => {
        this.#shard?.check(batch.events)
        this.#resumeGuard.deletes.record(mirror, batch)
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
      const requests = await this.#prepareWatch(context, lease)
      const timeoutSeconds = this.#timeoutSeconds(random.next())
      const key = this.#sharingKey(requests, this.#schemas.of(mirror))
      const from = this.#resumeGuard.deletes.readFrom(mirror, after)
      const resumePoint = { after, from, listedAt: this.#listedAt }
      const end = yield* this.#cluster.follow(key, resumePoint, this.#decoder(requests), followContext, {
        clock,
        connector: new WatchConnector((signal) => this.#session({ signal, clock }), requests, lease),
        maxObjectBytes: this.#maxObjectBytes,
        heartbeatMs: this.heartbeatMs,
        probeMs: this.#options.probeMs ?? PROBE_MS,
        timeoutSeconds,
      })
      this.#resumeGuard.recordWatchEnd(at, end)
    } catch (error) {
      failure = error
      throw this.#resumeGuard.classify(this.#recordError(error, clock, silentSince), after)
    } finally {
      removeWatch()
      lease.release(failure)
    }
  }

  /** What the history checks of a later process compare with. */
  resumeState(mirror: object): string {
    const { clusterId } = this.#credentials
    const deletedAt = this.#resumeGuard.deletes.of(mirror)
    return JSON.stringify({ clusterId, schema: this.#schemas.of(mirror), deletedAt })
  }

  /** The mirror has objects that an earlier process has read. */
  #restore(mirror: object, { after, resumeState = '{}' }: WatchContext): void {
    const { clusterId, schema, deletedAt } = savedState(resumeState)
    this.#clusterGuard.restore(after, typeof clusterId === 'string' ? clusterId : undefined)
    this.#schemas.recordList(mirror, typeof schema === 'string' ? schema : undefined)
    this.#resumeGuard.deletes.restore(mirror, elementsOf(deletedAt))
  }

  /** Finds the resource, and verifies the version that the watch resumes from. */
  async #prepareWatch(context: WatchContext, { continueOn }: WatchLease): Promise<ApiRequests> {
    const { after, clock } = context
    const session = this.#session(context)
    try {
      const requests = await this.#requests(session)
      continueOn(this.#credentials.clusterId)
      this.#resumeGuard.assertNotRemoved(after)
      if (this.#resumeGuard.takeVerified(after) && context.isUnconfirmed !== true) return requests
      await assertHistory(session, requests, after, continueOn)
      this.#resumeGuard.recordContact(clock)
      const expired = this.#schemas.mismatch(context.mirror ?? this, await schemaVersion(session, requests.resource))
      if (expired !== undefined) throw expired
      const contents = this.#resumeGuard.isAuditDue(clock.now())
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
  #sharingKey(requests: ApiRequests, schema: string | undefined): string {
    const { maxWatchMs, probeMs } = this.#options
    const { path, accept } = requests.watch({})
    return JSON.stringify([
      this.#credentials.clusterId,
      path,
      accept,
      schema,
      maxWatchMs,
      probeMs,
      this.heartbeatMs,
      this.#sessionOptions.timeoutMs,
      this.#maxObjectBytes,
    ])
  }

  async *versions(context: ListContext): AsyncGenerator<VersionPage> {
    const session = this.#session(context)
    const stopReporting = reportProgress(context)
    const assertCluster = (id: string | undefined): void => this.#clusterGuard.assertCluster(id)
    try {
      const requests = await this.#requests(session)
      const limit = Math.min(this.#options.pageSize ?? 500, context.pageSize)
      const options = {
        session,
        requests,
        decoder: this.#decoder(requests),
        limit,
        pageLimit: this.#pageLimit,
        pageSize: limit,
        metadataOnly: true,
        maxObjectBytes: this.#maxObjectBytes,
        random: context.random,
        onPageError: (error: unknown) => void this.#recordError(error),
        assertHistory: (after: Version) => assertHistory(session, requests, after, assertCluster),
      }
      const assertNotRewound = this.#clusterGuard.beginRead()
      for await (const { events, version } of readPages(options)) {
        assertCluster(session.clusterId)
        this.#shard?.check(events)
        const keys = events.flatMap(({ key, version: own }) =>
          key === undefined || own === undefined ? [] : { key, version: own },
        )
        if (version !== undefined) assertNotRewound(version)
        yield version === undefined ? { keys } : { keys, version }
      }
      // Keys and versions do not show a change of the schema.
      this.#schemas.observe(await schemaVersion(session, requests.resource))
    } catch (error) {
      throw this.#recordError(error)
    } finally {
      stopReporting()
      session.close()
    }
  }

  async head(context: Pick<SourceContext, 'signal' | 'clock'>): Promise<Version> {
    const session = this.#session(context)
    try {
      const requests = await this.#requests(session)
      const assertNotRewound = this.#clusterGuard.beginRead()
      const version = await readHead(session, requests)
      this.#clusterGuard.assertCluster(session.clusterId)
      assertNotRewound(version)
      return version
    } catch (error) {
      throw this.#recordError(error)
    } finally {
      session.close()
    }
  }

  hasReached(at: Version, mark: Version): boolean {
    assertResourceVersion(at)
    assertResourceVersion(mark)
    return compareVersions(at, mark) >= 0
  }

  #session({ signal, clock }: Pick<SourceContext, 'signal' | 'clock'>): ApiSession {
    return new ApiSession(this.#credentials, { signal, clock, ...this.#sessionOptions })
  }

  /** Throws before the server's Retry-After has passed. */
  async #requests(session: ApiSession): Promise<ApiRequests> {
    session.assertOpen()
    const { apiVersion = 'v1', kind, plural, namespace } = this.#options
    const { labelSelector, metadataOnly = false } = this.#options
    const needsSelector = this.#shard !== undefined && labelSelector === undefined
    const { fieldSelector = needsSelector ? EVERY_OBJECT : undefined } = this.#options
    const resource = this.#resource ?? (await findResource(session, { apiVersion, kind, plural }))
    this.#resource = resource
    if (namespace !== undefined && !resource.isNamespaced) {
      const message = `${resource.plural} are in no namespace (leave out namespace: "${namespace}")`
      throw new SourceError(message, { code: 'PROTOCOL' })
    }
    const shardSelector = this.#shard?.selector
    return new ApiRequests(resource, { namespace, labelSelector, fieldSelector, shardSelector, metadataOnly })
  }

  #decoder({ resource }: ApiRequests): Decoder<T> {
    const { stripManagedFields = true, metadataOnly = false } = this.#options
    const { kind, apiVersion } = metadataOnly ? PARTIAL : resource
    return new Decoder<T>({ kind, apiVersion, stripManagedFields, metadataOnly, maxObjectBytes: this.#maxObjectBytes })
  }

  #timeoutSeconds(chance: number): number {
    const { maxWatchMs = 600_000 } = this.#options
    return Math.max(1, Math.floor((Math.min(maxWatchMs, MAX_WATCH_MS) / 1_000) * (0.5 + chance / 2)))
  }

  #recordError(error: unknown, clock?: Clock, silentSince?: number): unknown {
    this.#resumeGuard.recordError(error, clock, silentSince)
    if (error instanceof SourceError && error.code === 'NOT_FOUND') this.#resource = undefined
    return error
  }
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

/**
 * The core's limit of 30 s without a page knows nothing of the longer deadlines of credentials and requests, in
 * milliseconds.
 */
const REPORT_MS = 10_000

/** Reports progress to the core until the result is called. The caller limits each of its own waits. */
function reportProgress(context: ListContext): () => void {
  return repeat(context.clock, REPORT_MS, () => context.alive?.())
}
