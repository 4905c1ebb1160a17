import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type {
  ListContext,
  ListerWatcher,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { Decoder } from './decode/decoder.js'
import { ClusterGuard, historyRewound, type WatchLease } from './history/cluster-guard.js'
import { assertResourceVersion, compareVersions } from './history/resource-version.js'
import { SchemaOrigins } from './history/schema-origins.js'
import { apiError, apiStatusIn } from './http/api-error.js'
import { ApiRequests } from './http/api-requests.js'
import { ApiSession } from './http/api-session.js'
import { nextArrival } from './http/arrival-order.js'
import { Credentials } from './http/credentials.js'
import { findResource, type Resource } from './http/discovery.js'
import { type RetryAfterGate, wishOf } from './http/retry-after-gate.js'
import { schemaHash } from './http/schema-hash.js'
import { checkSourceOptions, type KubernetesSourceOptions } from './kubernetes-options.js'
import { withLifeSigns } from './list/keep-alive-pages.js'
import { readList } from './list/list-reader.js'
import { PageLimit } from './list/page-limit.js'
import { MAX_OUTAGE_MS } from './list/page-retry.js'
import { readPages } from './list/paged-list.js'
import { type KubernetesNamespaces, NamespaceSet } from './namespace-set.js'
import type { KubernetesObject } from './types/kubernetes-object.js'
import { StuckResumeDetector } from './watch/stuck-resume-detector.js'
import { followShared } from './watch/watch-registry.js'

/** A kind of objects of a Kubernetes API server, as a source. Marks are the `metadata.resourceVersion` of what was written. */
export interface KubernetesSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  versions(context: ListContext): AsyncIterable<VersionPage>
  head(context: SourceContext): Promise<Version>
  hasReached(at: Version, mark: Version): boolean
}

const MAX_OBJECT_BYTES = 16 * 1024 * 1024
/** A server's bookmarks come every 60 to 63 s; a machine may be slow. */
const HEARTBEAT_MS = 75_000
/** A half-open connection is noticed within this time, in milliseconds. */
const PROBE_MS = 20_000
/** For so long nobody asks a server again that streams no lists, in milliseconds: it may be another by then. */
const STREAM_RETRY_MS = 600_000
/** All who were away meanwhile come back within this time, in milliseconds: nobody rests for longer than half of it. */
const AUDIT_WINDOW_MS = 60_000
/** A watch that is longer is not asked for, in milliseconds. */
const MAX_WATCH_MS = 86_400_000
/**
 * Mirrors objects of one kind, built-in or custom. Opens nothing by itself. `T` is what you say that they are, and nothing checks
 * it: of a type of @kubernetes/client-node say `Wire<V1Pod>`, which has dates and names as the API server says them.
 */
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & { readonly namespaces?: undefined },
): KubernetesSource<T>
/** The same of several namespaces: one source for each, in one store. */
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & { readonly namespaces: readonly string[]; readonly namespace?: undefined },
): KubernetesNamespaces<T>
/** Whichever it is: of these namespaces, or, where they are undefined, of all. */
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & {
    readonly namespaces?: readonly string[] | undefined
    readonly namespace?: undefined
  },
): KubernetesSource<T> | KubernetesNamespaces<T>
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & { readonly namespaces?: readonly string[] | undefined },
): KubernetesSource<T> | KubernetesNamespaces<T> {
  checkSourceOptions(options)
  const { namespaces, ...rest } = options
  // One for all namespaces: a plugin runs once, and none comes to be of another cluster than the others.
  const credentials = new Credentials(rest.kubeConfig)
  if (namespaces === undefined) return new ApiSource<T>(rest, credentials)
  if (rest.namespace !== undefined) throw new TypeError('kubernetesSource: give either "namespace" or "namespaces"')
  return new NamespaceSet<T>(namespaces, (namespace) => {
    checkSourceOptions({ ...rest, namespace })
    return new ApiSource<T>({ ...rest, namespace }, credentials)
  })
}

class ApiSource<T> implements KubernetesSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #options: KubernetesSourceOptions
  readonly #credentials: Credentials
  readonly #stallMs: number
  readonly #maxObjectBytes: number
  #resource: Resource | undefined
  /**
   * Once anything has broken off: from where somebody may go on without asking whether the server still has the history that we know,
   * since a list or a watch has ended there as it should. What broke off may have been a restore, also for who comes back later.
   */
  #verifiedVersions: Set<Version> | undefined
  /** From when on the server is asked to stream lists, after it did not, or not to the end. */
  #streamRetryAt = 0
  /** Since when nobody has answered. */
  #unreachableSince: number | undefined
  /** That was long: until then all come back who were away meanwhile. */
  #auditUntil = -Infinity
  /** Before this moment the last list began. */
  #listArrival = 0
  readonly #clusterGuard = new ClusterGuard()
  readonly #stuckResumes = new StuckResumeDetector()
  readonly #pageLimit = new PageLimit()
  readonly #schemas = new SchemaOrigins()
  /** Where the server wishes to be left alone, nothing is begun; what is under way goes on. */
  readonly #retryAfter: RetryAfterGate
  #removed: RemovedResource | undefined

  constructor(options: KubernetesSourceOptions, credentials: Credentials) {
    const { apiVersion = 'v1', kind, plural, namespace } = options
    this.#options = options
    this.#credentials = credentials
    this.#retryAfter = wishOf(options.kubeConfig, JSON.stringify([apiVersion, kind, plural, namespace]))
    this.#stallMs = options.stallMs ?? 15_000
    this.#maxObjectBytes = options.maxObjectBytes ?? MAX_OBJECT_BYTES
    this.heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS
    const [group] = apiVersion.includes('/') ? apiVersion.split('/') : []
    const what = `${plural ?? kind}${group === undefined ? '' : `.${group}`}`
    this.name = `kubernetes:${namespace === undefined ? '' : `${namespace}/`}${what}`
  }

  list(context: ListContext): AsyncGenerator<ListPage<T>> {
    return withLifeSigns(this.#list(context), { events: [] }, context.clock)
  }

  async *#list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const { pageSize, random, clock, floor } = context
    const removed = this.#removed
    this.#listArrival = nextArrival()
    const session = this.#session(context)
    try {
      const requests = await this.#requests(session)
      // Before the objects: those of a schema that comes in between are read once more.
      const schema = await schemaHash(session, requests.resource)
      let clusterId: string | undefined
      let version: Version | undefined
      const assertHistory = (after: Version): Promise<Version> =>
        this.#assertHistory(session, requests, after, (from) =>
          this.#clusterGuard.beginList(from, undefined, context.signal),
        )
      const pages = readList(session, requests, this.#decoder(requests), {
        isStreamed: (this.#options.streamingLists ?? true) && clock.now() >= this.#streamRetryAt,
        limit: Math.min(this.#options.pageSize ?? 500, pageSize),
        pageLimit: this.#pageLimit,
        pageSize: Math.min(pageSize, PAGE_EVENTS),
        metadataOnly: this.#options.metadataOnly ?? false,
        maxObjectBytes: this.#maxObjectBytes,
        stallMs: this.#stallMs,
        timeoutSeconds: this.#timeoutSeconds(random.next()),
        random,
        onPageError: (error) => this.#recordError(error, clock),
        assertHistory,
        onNotStreamed: ({ cause }) => {
          this.#recordError(cause, clock)
          this.#streamRetryAt = clock.now() + STREAM_RETRY_MS
        },
      })
      for await (const page of pages) {
        if (clusterId === undefined) this.#clusterGuard.beginList(session.clusterId, floor, context.signal)
        clusterId ??= session.clusterId
        if (session.clusterId !== clusterId || this.#credentials.clusterId !== clusterId)
          throw clusterChangedDuringList()
        // Who is only behind says where the others are.
        if (page.version !== undefined && floor !== undefined && compareVersions(page.version, floor) < 0)
          await assertHistory(floor)
        this.#recordContact(clock)
        version = page.version ?? version
        yield page
      }
      if (this.#credentials.clusterId !== clusterId) throw clusterChangedDuringList()
      this.#clusterGuard.completeList(clusterId, floor, version)
      this.#schemas.recordList(context.mirror ?? this, schema)
      if (version !== undefined) {
        this.#verifiedVersions?.add(version)
        // One that began before it was removed says nothing of what is there now.
        if (removed !== undefined && removed === this.#removed && !isListed(removed, version))
          removed.listedFrom = version
      }
    } catch (error) {
      throw this.#recordError(error, context.clock)
    } finally {
      session.close()
    }
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const { after, random, clock } = context
    assertResourceVersion(after)
    const lease = this.#clusterGuard.lease(context.signal, after)
    const unwatch = this.#schemas.addWatch(context.mirror ?? this, lease)
    let at = after
    let silentSince: number | undefined
    let failure: unknown
    try {
      const requests = await this.#prepared(context, lease)
      const timeoutSeconds = this.#timeoutSeconds(random.next())
      const end = yield* followShared(
        this.#shared(requests, this.#schemas.of(context.mirror ?? this)),
        { after, listedAt: this.#listArrival },
        this.#decoder(requests),
        {
          signal: lease.signal,
          onProgressRequest: (listener) => context.onProgressRequest(listener),
          hasWaiters: () => context.hasWaiters?.() ?? true,
          requestProof: () => context.requestProof?.(),
          onAdvance: (version) => {
            at = version
            lease.advanceTo(version)
          },
          onSilence: (since) => {
            silentSince = since
          },
        },
        {
          clock,
          maxObjectBytes: this.#maxObjectBytes,
          heartbeatMs: this.heartbeatMs,
          probeMs: this.#options.probeMs ?? PROBE_MS,
          timeoutSeconds,
          session: (signal) => this.#session({ signal, clock }),
          head: () => this.#headFor(context, requests, lease),
          open: async (session, resourceVersion, seconds, isAgain) => {
            this.#retryAfter.assertOpen(clock.now())
            const head = isAgain
              ? await this.#assertHistory(session, requests, resourceVersion, lease.continueOn)
              : undefined
            const body = await session.open(requests.watch({ resourceVersion, timeoutSeconds: seconds }))
            lease.continueOn(session.clusterId)
            return { body, head }
          },
          refusal: (status) => apiError(status, requests.watch({})),
        },
      )
      this.#stuckResumes.reset()
      if (end === 'early') this.#verifiedVersions = new Set()
      else this.#verifiedVersions?.add(at)
    } catch (error) {
      failure = error
      throw this.#stuckResumes.classify(this.#recordError(error, context.clock, silentSince), after)
    } finally {
      unwatch()
      lease.release(failure)
    }
  }

  /** What has to be known before a watch is opened. */
  async #prepared(context: WatchContext, { continueOn: goesOn }: WatchLease): Promise<ApiRequests> {
    const { after } = context
    const session = this.#session(context)
    try {
      const requests = await this.#requests(session)
      goesOn(this.#credentials.clusterId)
      if (this.#removed !== undefined && !isListed(this.#removed, after))
        throw new SourceError('it was removed, and is there again', { code: 'VERSION_EXPIRED' })
      // One that goes on from there later was broken off, and has to ask.
      if (this.#verifiedVersions === undefined || this.#verifiedVersions.delete(after)) return requests
      await this.#assertHistory(session, requests, after, goesOn)
      this.#recordContact(context.clock)
      const expired = this.#schemas.mismatch(context.mirror ?? this, await schemaHash(session, requests.resource))
      if (expired !== undefined) throw expired
      if (context.clock.now() < this.#auditUntil)
        context.requestAudit?.(
          'the API server was out of reach for long enough to be restored, and to have got past us since',
        )
      return requests
    } finally {
      session.close()
    }
  }

  /** What is the same for all that may share one watch. */
  #shared(requests: ApiRequests, schema: string | undefined): { readonly giver: object; readonly key: string } {
    const { kubeConfig, maxWatchMs, probeMs } = this.#options
    const { path, accept } = requests.watch({})
    const settings = [
      this.#credentials.clusterId,
      path,
      accept,
      schema,
      maxWatchMs,
      probeMs,
      this.heartbeatMs,
      this.#stallMs,
      this.#maxObjectBytes,
    ]
    return { giver: kubeConfig, key: JSON.stringify(settings) }
  }

  versions(context: ListContext): AsyncGenerator<VersionPage> {
    return withLifeSigns(this.#versions(context), { keys: [] }, context.clock)
  }

  async *#versions(context: ListContext): AsyncGenerator<VersionPage> {
    const session = this.#session(context)
    try {
      const requests = await this.#requests(session)
      const limit = Math.min(this.#options.pageSize ?? 500, context.pageSize)
      const options = {
        limit,
        pageLimit: this.#pageLimit,
        pageSize: limit,
        metadataOnly: true,
        maxObjectBytes: this.#maxObjectBytes,
        random: context.random,
        onPageError: (error: unknown) => void this.#recordError(error),
        assertHistory: (after: Version) =>
          this.#assertHistory(session, requests, after, (from) => this.#clusterGuard.assertCluster(from)),
      }
      const assertNotBack = this.#clusterGuard.beginRead()
      for await (const { events, version } of readPages(session, requests, this.#decoder(requests), options)) {
        this.#clusterGuard.assertCluster(session.clusterId)
        const keys = events.flatMap(({ key, version: own }) =>
          key === undefined || own === undefined ? [] : { key, version: own },
        )
        if (version !== undefined) assertNotBack(version)
        yield version === undefined ? { keys } : { keys, version }
      }
      // Keys and versions say nothing of it.
      this.#schemas.observe(await schemaHash(session, requests.resource))
    } catch (error) {
      throw this.#recordError(error)
    } finally {
      session.close()
    }
  }

  async head(context: Pick<SourceContext, 'signal' | 'clock'>): Promise<Version> {
    const session = this.#session(context)
    try {
      const requests = await this.#requests(session)
      const assertNotBack = this.#clusterGuard.beginRead()
      const version = await this.#head(session, requests)
      this.#clusterGuard.assertCluster(session.clusterId)
      assertNotBack(version)
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

  /** Where the server's history ends: a read that a majority of its etcd stands for. */
  async #head(session: ApiSession, requests: ApiRequests): Promise<Version> {
    const answer = await session.json(requests.list({ limit: 1 }, true))
    const { resourceVersion } = Object(Object(answer).metadata) as { readonly resourceVersion?: unknown }
    const version = typeof resourceVersion === 'string' ? resourceVersion : ''
    assertResourceVersion(version)
    return version
  }

  /** The same for a watch, over a connection of its own. */
  async #headFor(
    { clock }: WatchContext,
    requests: ApiRequests,
    { signal, continueOn: goesOn }: WatchLease,
  ): Promise<Version> {
    const session = this.#session({ signal, clock })
    try {
      const head = await this.#head(session, requests)
      goesOn(session.clusterId)
      return head
    } finally {
      session.close()
    }
  }

  /** A history never goes back; where it did, an etcd was restored, and our version means something else in it. Gives where it ends. */
  async #assertHistory(
    session: ApiSession,
    requests: ApiRequests,
    after: Version,
    here: ClusterCheck,
  ): Promise<Version> {
    const head = await this.#head(session, requests)
    here(session.clusterId)
    if (compareVersions(head, after) < 0) throw historyRewound(after, head)
    return head
  }

  /** Somebody has reached the server. Others may have been away for as long, and come back later. */
  #recordContact(clock: Clock): void {
    const now = clock.now()
    if (this.#unreachableSince !== undefined && now - this.#unreachableSince >= MAX_OUTAGE_MS)
      this.#auditUntil = now + AUDIT_WINDOW_MS
    this.#unreachableSince = undefined
  }

  /** Throws where nothing may be asked yet. */
  async #requests(session: ApiSession): Promise<ApiRequests> {
    this.#retryAfter.assertOpen(session.clock.now())
    const {
      apiVersion = 'v1',
      kind,
      plural,
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly = false,
    } = this.#options
    const resource = this.#resource ?? (await findResource(session, { apiVersion, kind, plural }))
    this.#resource = resource
    if (namespace !== undefined && !resource.isNamespaced) {
      const message = `${resource.plural} are in no namespace (leave out namespace: "${namespace}")`
      throw new SourceError(message, { code: 'PROTOCOL' })
    }
    return new ApiRequests(resource, { namespace, labelSelector, fieldSelector, metadataOnly })
  }

  #decoder({ resource }: ApiRequests): Decoder<T> {
    const { stripManagedFields = true, metadataOnly = false } = this.#options
    const { kind, apiVersion } = metadataOnly ? PARTIAL : resource
    return new Decoder<T>({ kind, apiVersion, stripManagedFields, metadataOnly, maxObjectBytes: this.#maxObjectBytes })
  }

  #session({ signal, clock }: Pick<SourceContext, 'signal' | 'clock'>): ApiSession {
    return new ApiSession(this.#credentials, { signal, clock, stallMs: this.#stallMs, retryAfter: this.#retryAfter })
  }

  #timeoutSeconds(chance: number): number {
    const { maxWatchMs = 600_000 } = this.#options
    return Math.max(1, Math.floor((Math.min(maxWatchMs, MAX_WATCH_MS) / 1_000) * (0.5 + chance / 2)))
  }

  /** Remembers what an error says of the server; with a clock, for how long it has been out of reach, which may be since before the error. */
  #recordError(error: unknown, clock?: Clock, silentSince?: number): unknown {
    if (!(error instanceof SourceError)) return error
    if (error.code === 'UNAVAILABLE') {
      this.#verifiedVersions = new Set()
      // One that wishes to be left alone is there.
      if (apiStatusIn(error)?.code !== 429) this.#unreachableSince ??= silentSince ?? clock?.now()
    }
    if (error.code === 'NOT_FOUND') {
      this.#resource = undefined
      this.#verifiedVersions = new Set()
      this.#removed = { listedFrom: undefined }
    }
    return error
  }
}

/** It was not there: what is there when it is again is something else, and who is not as far as the lists of that has to list. */
interface RemovedResource {
  listedFrom: Version | undefined
}

function isListed({ listedFrom }: RemovedResource, version: Version): boolean {
  return listedFrom !== undefined && compareVersions(version, listedFrom) >= 0
}

/** Throws where that is another cluster than the one whose versions are to be compared. */
type ClusterCheck = (clusterId: string | undefined) => void

function clusterChangedDuringList(): SourceError {
  return new SourceError('the kubeConfig has come to lead elsewhere during the list', { code: 'UNAVAILABLE' })
}

/** What the server calls an object of which it shows nothing but the metadata. */
const PARTIAL = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
/** Most objects of a page: they are parsed in one piece of work. */
const PAGE_EVENTS = 256
