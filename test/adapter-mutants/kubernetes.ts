import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/kubernetes/${file}.ts`

export const kubernetesMutants: readonly AdapterMutant[] = [
  // Defects by authors who had read SPEC.md and the adapters, and no test.
  {
    // The schema changes while a list is read, and the watch is resumed or an audit comes later.
    name: 'a list reads the hash of the schema after the objects',
    breaks: 'A schema that changes what objects look like leads to a list with the new content.',
    file: at('api-source'),
    edits: [
      [
        '      // Before the objects: if the schema changes during the list, the objects are read again.\n      const schema = await schemaVersion(session, requests.resource)\n',
        '',
      ],
      [
        'this.#schemas.recordList(context.mirror ?? this, schema)',
        'this.#schemas.recordList(context.mirror ?? this, await schemaVersion(session, requests.resource))',
      ],
    ],
    test: 'kubernetes/schemas.test.ts',
    named: 'if it changed during the last list',
  },
  {
    // The watch delivers a write while fresh() waits for the answer of the server.
    name: 'head records the versions of the watches after its answer, not before its request',
    breaks: 'Only a history that went back is EPOCH_CHANGED; fresh() reads during writes without a relist.',
    file: at('api-source'),
    edits: [
      [
        '      const assertNotRewound = this.#clusterGuard.beginRead()\n      const version = await readHead(session, requests)\n',
        '      const version = await readHead(session, requests)\n      const assertNotRewound = this.#clusterGuard.beginRead()\n',
      ],
    ],
    test: 'kubernetes/history.test.ts',
    named: 'is not assumed when a write is delivered',
  },
  {
    // Two informers of one kubeConfig and resource run at once, one with metadataOnly, which opens its watch first.
    name: 'a watch of metadata alone is shared with one of whole objects',
    breaks: 'Only informers of the same objects share a watch, and each shows the objects that it requested.',
    file: at('api-source'),
    edits: [
      ['const { path, accept } = requests.watch({})', 'const { path } = requests.watch({})'],
      ['      path,\n      accept,\n      schema,', '      path,\n      schema,'],
    ],
    test: 'kubernetes/sharing.test.ts',
    named: 'share nothing if one wants nothing but metadata',
  },
  {
    // The server is away for more than 30 s, receives several requests meanwhile, and comes back restored with a
    // history past ours.
    name: 'each failed attempt counts as the beginning of the outage',
    breaks: 'After half a minute out of reach an audit comes within 10 s of the reopened watch.',
    file: at('history/resume-guard'),
    edits: [
      [
        'this.#unreachableSince ??= silentSince ?? clock?.now()',
        'this.#unreachableSince = silentSince ?? clock?.now()',
      ],
    ],
    test: 'kubernetes/audit-after-outage.test.ts',
    named: 'for long enough to be restored is audited',
  },
  {
    name: 'the time in which the machine slept does not count as an outage',
    breaks: 'After half a minute out of reach an audit comes within 10 s of the reopened watch.',
    file: at('history/resume-guard'),
    edits: [['Math.max(unreachableMs, sleptMs)', 'unreachableMs']],
    test: 'kubernetes/audit-after-outage.test.ts',
    named: 'while the machine slept, whose clock stood still meanwhile',
  },
  {
    // An informer with a newer list joins, reads lines from before its list first, and then the stream is replaced.
    name: 'a follower that is ahead marks old lines with its own version',
    breaks: 'Informers that share a watch miss no event, also when another connection takes over.',
    file: at('watch/shared-watch'),
    edits: [['segment.end ??= reader.streamVersion', 'segment.end ??= reader.version']],
    test: 'kubernetes/shared-watch.test.ts',
    named: 'a follower that is ahead of a shared watch hides no event',
  },
  {
    // Two informers share a watch, and one is more than 1 MiB behind the other.
    name: 'what the fastest follower has read is let go of for all',
    breaks: 'Of two informers that share a watch, a slow one receives every event, without a pause of minutes.',
    file: at('watch/shared-watch'),
    edits: [['this.#log.release(Math.min(', 'this.#log.release(Math.max(']],
    test: 'kubernetes/sharing.test.ts',
    named: 'the slower one receives every event',
  },
  {
    // Events that were created in the same minute expire: etcd deletes all keys of a lease in one revision.
    name: 'of several deletes in one revision only the first is delivered',
    breaks: 'All objects that expire together are deleted.',
    file: at('watch/batch-reader'),
    edits: [["order > 0 || (order === 0 && line.type === 'delete')", 'order > 0']],
    test: 'kubernetes/expired-events.test.ts',
    named: 'are all deleted, if the watch stays open',
  },
  {
    // The connection breaks off when some of the objects that expire together were deleted.
    name: 'a watch that breaks off after a delete is resumed after its version',
    breaks: 'All objects that expire together are deleted, also if the watch breaks off meanwhile.',
    file: at('history/delete-positions'),
    edits: [['this.of(mirror).includes(after) ? versionBefore(after) : after', 'after']],
    test: 'kubernetes/expired-events.test.ts',
    named: 'if the watch breaks off between two of them',
  },
  {
    // A watch is silent after some of the objects that expire together were deleted, and is replaced.
    name: 'a connection that replaces another begins after the version of the last delete',
    breaks: 'All objects that expire together are deleted, also if another connection continues the watch.',
    file: at('watch/watch-log'),
    edits: [['after === this.#deletedAt ? versionBefore(after) : after', 'after']],
    test: 'kubernetes/expired-events.test.ts',
    named: 'if another connection replaces the watch between two of them',
  },
  {
    // The last event of a quiet collection was a delete, and a probe repeats it every 20 s.
    name: 'a probe that repeats the last delete proves a half-open watch',
    breaks: 'A watch that misses nothing is not replaced.',
    file: at('watch/bookmark-probe'),
    edits: [["types[at] !== 'BOOKMARK' && this.#isNew(bytes)", "types[at] !== 'BOOKMARK'"]],
    test: 'kubernetes/expired-events.test.ts',
    named: 'prove no half-open watch',
  },
  {
    // A watch is half open, or silent for heartbeatMs, and continues over another connection, several times.
    name: 'the connection that was replaced is not closed',
    breaks: 'When another connection has replaced it from a silent watch, the silent one is closed.',
    file: at('watch/shared-watch'),
    edits: [
      [
        "    before?.interrupt()\n    before?.destroy('another connection has replaced it')\n",
        '    before?.interrupt()\n',
      ],
    ],
    test: 'kubernetes/silent-watches.test.ts',
    named: 'is not given up before another has taken its place',
  },
  {
    // An informer listed at an older version than the one at which the open watch of another begins.
    name: 'a follower joins a shared watch that has released events it needs',
    breaks: 'A follower joins a watch only if it misses no event there.',
    file: at('watch/watch-log'),
    edits: [['    if (!isUpTo(segment, version)) return undefined\n', '']],
    test: 'unit/adapters/kubernetes/watch-log.test.ts',
    named: 'retains up to a megabyte that all have read',
  },
  {
    // More than 512 KiB of an answer come before they are taken.
    name: 'a body that was paused because much had come is never resumed',
    breaks: 'A list or watch continues as long as the server sends.',
    file: at('http/response-body'),
    edits: [
      [
        '      if (this.#bytes >= HIGH_WATER_MARK_BYTES) this.#response.resume()\n      this.#bytes = 0\n',
        '      this.#bytes = 0\n      if (this.#bytes >= HIGH_WATER_MARK_BYTES) this.#response.resume()\n',
      ],
    ],
    test: 'unit/adapters/kubernetes/response-body.test.ts',
    named: 'continues once they are taken',
  },
  {
    // A watch ends, the server is restored to an older version, the mirror lists, and then fresh() is called.
    name: 'a watch that has ended still counts when the head is read',
    breaks: 'After a restore one list is enough: later fresh() calls and audits of the new history succeed.',
    file: at('history/cluster-guard'),
    edits: [['        this.#leases.delete(state)\n', '']],
    test: 'kubernetes/history.test.ts',
    named: 'is detected by fresh\\(\\)',
  },
  {
    // The kubeConfig function changes clusters, both issued the same version, and two informers of the source resume
    // from it.
    name: 'a version that two clusters issued counts as of the current one',
    breaks: "No version of one cluster is compared with the other cluster's: EPOCH_CHANGED instead.",
    file: at('history/version-origins'),
    edits: [['return (other ?? taken)?.clusterId', 'return taken?.clusterId']],
    test: 'unit/adapters/kubernetes/version-origins.test.ts',
    named: 'is from another cluster as long as',
  },
  {
    // A chunk of a list in pages ends between a backslash and the character after it, inside of an object.
    name: 'a backslash at the end of a chunk is forgotten',
    breaks: 'A list has every object as the server has it, wherever its bytes are cut.',
    file: at('decode/json-list-splitter'),
    edits: [['        else if (at === end) this.#isEscaped = true\n        else at++', '        else at++']],
    test: 'property/kubernetes-json-list-splitter.property.test.ts',
    named: 'a list is cut into what JSON.parse finds',
  },
  {
    // An object grows beyond maxObjectBytes, or nests too deep, and then is deleted.
    name: 'a deletion whose object cannot be read is delivered as an invalid object',
    breaks: 'An object that the watch says was deleted goes from the mirror, even if its last state is too large.',
    file: at('decode/decoder'),
    edits: [
      [
        "  if (type === 'DELETED' && scanned.name !== undefined) {\n    return {\n      type: 'delete',\n      event: { type: 'delete', key: keyOf(scanned.namespace, scanned.name) },\n      version,\n      isChange: true,\n    }\n  }\n",
        '',
      ],
    ],
    test: 'unit/adapters/kubernetes/decoder.test.ts',
    named: 'of the type DELETED that cannot be parsed',
  },
  {
    // A streamed list breaks off after it delivered an object, which is deleted before the pages are read.
    name: 'a list keeps objects that only an abandoned attempt has delivered',
    breaks: 'The events of an abandoned attempt are overridden: a list is one state of the server.',
    file: at('list/list-reader'),
    edits: [
      [
        'yield page.version === undefined ? { ...page, events } : { ...page, events: [...events, ...superseded.deletes()] }',
        'yield { ...page, events }',
      ],
    ],
    test: 'kubernetes/lists.test.ts',
    named: 'while it was streamed leaves nothing behind',
  },
  {
    // A later page fails, and the server is restored to before the list's version before the page is requested again.
    name: 'a page that failed is requested again without a history check',
    breaks: 'No list has pages of two histories: a restore before the retry is EPOCH_CHANGED.',
    file: at('list/paged-list'),
    edits: [['      isAgain = true\n', '']],
    test: 'kubernetes/history.test.ts',
    named: 'between a page that failed and its retry',
  },
  {
    // The role may list but not watch, and the server can stream lists.
    name: 'a streamed list that is refused for lack of rights is not read in pages',
    breaks: 'With the right to list alone there is what was listed, and the error of the watch.',
    file: at('list/streamed-list'),
    edits: [
      [
        'if (status !== undefined && (isTooLarge(status) || status.code === 403)) return true',
        'if (status !== undefined && isTooLarge(status)) return true',
      ],
    ],
    test: 'kubernetes/streamed.test.ts',
    named: 'refuses to stream \\(403\\)',
  },
  {
    // Waits begin more often than every 250 ms, for a version that a selector leaves out.
    name: 'each new wait postpones the probe',
    breaks: 'One probe serves all waiting readers: a wait ends within seconds.',
    file: at('watch/probe-schedule'),
    edits: [['this.#at ??= Math.max(now + FIRST_DELAY_MS', 'this.#at = Math.max(now + FIRST_DELAY_MS']],
    test: 'unit/adapters/kubernetes/probe-schedule.test.ts',
    named: 'after the first of several requests',
  },
  {
    // Several namespaces or sources requests with the same credentials are answered with 401 at once.
    name: 'each request that was refused renews the credentials once more',
    breaks: 'However many requests were refused at once, a plugin or kubeConfig function runs once for all.',
    file: at('http/credentials'),
    edits: [['refused.renewals !== this.#renewals) return', 'refused.renewals > this.#renewals) return']],
    test: 'unit/adapters/kubernetes/credentials.test.ts',
    named: 'are requested once more, however many requests with them were rejected',
  },
  {
    // The informer is stopped, the only object of a namespace is deleted and recreated, and it is started again.
    name: 'makeInformer loses the only object of a namespace when it was recreated',
    breaks: 'get() and list() have the objects that add delivered, and their deletion is delivered.',
    file: at('client-node/make-informer'),
    edits: [
      [
        '    const previous = objects.get(name)\n    if (previous !== undefined && identityOf(previous).uid !== uid) this.#remove(previous)\n    this.#objects.set(namespace, objects)\n',
        '    this.#objects.set(namespace, objects)\n    const previous = objects.get(name)\n    if (previous !== undefined && identityOf(previous).uid !== uid) this.#remove(previous)\n',
      ],
    ],
    test: 'kubernetes/shim-peers.test.ts',
    named: 'the only object, deleted and recreated',
  },
  // Leases.
  {
    name: 'a lease is updated whatever it is',
    breaks: 'An update replaces a Lease object only if it has not changed.',
    file: at('leases/lease-objects'),
    edits: [
      [
        'const identity = before === undefined ? {} : { uid: before.uid, resourceVersion: before.resourceVersion }',
        'const identity = {}',
      ],
    ],
    test: 'conformance/leases/kubernetes.test.ts',
    named: 'with a watch cache .*an eviction removes a record',
    server: 'kubernetes 1.36',
  },
  {
    name: 'a lease is deleted although it was renewed',
    breaks: 'An eviction removes a record only if it is unchanged.',
    file: at('leases/lease-session'),
    edits: [['    if (object?.renewal !== renewal) return\n', '    if (object === undefined) return\n']],
    test: 'conformance/leases/kubernetes.test.ts',
    named: 'with a watch cache .*an eviction leaves a record',
    server: 'kubernetes 1.36',
  },
  {
    // Two controllers have a finalizer each on one object, and another client removes the first one.
    name: 'a finalizer is removed by its place in the mirrored list alone',
    breaks: 'A controller removes its own finalizer, and no other one.',
    file: at('write/finalizer'),
    edits: [["      { op: 'test', path, value: this.#name },\n", '']],
    test: 'kubernetes/writer.test.ts',
    named: 'although the mirror is behind other clients',
  },
  {
    name: 'a finalizer is added to whatever list the object has by now',
    breaks: 'A finalizer that another client adds at the same time is kept.',
    file: at('write/finalizer'),
    edits: [
      ["return [test, { op: 'add'", "return [{ op: 'add'"],
      ["return [test, { op: 'test'", "return [{ op: 'test'"],
    ],
    test: 'kubernetes/writer.test.ts',
    named: 'although the mirror is behind other clients',
  },
  {
    // A transform drops the finalizers of objects.
    name: 'a finalizer replaces those that the mirrored object lacks',
    breaks: 'The finalizers of other controllers are kept.',
    file: at('write/finalizer'),
    edits: [["{ op: 'test', path, value: null }, ", '']],
    test: 'kubernetes/writer.test.ts',
    named: 'of which a transform has dropped the finalizers',
  },
  {
    name: 'the functions run before the finalizer is added',
    breaks: 'An object has the finalizer before the first run.',
    file: at('write/finalizer'),
    edits: [
      [
        'else await this.#change(object, (current) => this.#addition(current), signal)',
        'else {\n        await reconcile(key, context)\n        await this.#change(object, (current) => this.#addition(current), signal)\n      }',
      ],
    ],
    test: 'kubernetes/writer.test.ts',
    named: 'a finalizer is added before the first run',
  },
  {
    name: 'a finalizer is removed although the cleanup failed',
    breaks: 'A deleted object stays until its cleanup succeeds.',
    file: at('write/finalizer'),
    edits: [['        await cleanup(key, context)\n', '        await cleanup(key, context).catch(() => {})\n']],
    test: 'kubernetes/writer.test.ts',
    named: 'a deleted object stays until its cleanup succeeds',
  },
  {
    name: 'a repetition of an event that has expired is lost',
    breaks: 'An event that expired is created again.',
    file: at('write/event-recorder'),
    edits: [['        if (isExpired) {', '        if (isExpired && series.count === 0) {']],
    test: 'kubernetes/writer.test.ts',
    named: 'one that expired is created again',
  },
  {
    name: 'two recorders name their events alike',
    breaks: 'An event is created beside one that another recorder creates in the same millisecond.',
    file: at('write/event-recorder'),
    edits: [['.${this.#id}.${(++this.#names)', '.${(++this.#names)']],
    test: 'unit/adapters/kubernetes/writer.test.ts',
    named: 'two recorders that record the same moment',
  },
  {
    // A proxy before the server writes names of fields with escapes.
    name: 'a list whose items have an escaped name counts as empty',
    breaks: 'An answer whose items are not read deletes nothing.',
    file: at('list/paged-list'),
    edits: [['!(Array.isArray(items) && items.length === 0)', '!Array.isArray(items)']],
    test: 'kubernetes/hostile.test.ts',
    named: 'whose items have an escaped name',
  },
  {
    // A ClusterRole with an ampersand in its name is larger than maxObjectBytes, and is deleted.
    name: 'the name of an object that is too large is read with its escapes',
    breaks: 'An object that cannot be read has the key under which it was read before.',
    file: at('decode/metadata-scanner'),
    edits: [["if (!raw.includes('\\\\')) return raw", 'if (raw.length > 0) return raw']],
    test: 'unit/adapters/kubernetes/decoder.test.ts',
    named: 'is decoded: a server escapes some characters of names',
  },
  {
    // A server before its own storage answers each page with its current version, and objects are written meanwhile.
    name: 'a list has pages of two versions',
    breaks: 'No change is missed: all pages of a list have one version.',
    file: at('list/paged-list'),
    edits: [["if (snapshot !== '' && read.version !== snapshot) {", "if (snapshot === 'none') {"]],
    test: 'kubernetes/failed-pages.test.ts',
    named: 'of another version than the first leads to a list in one piece',
  },
  {
    // A transform drops the uid of objects to save memory.
    name: 'a finalizer of an object without a uid is never written, and no run fails',
    breaks: 'A run fails if its finalizer cannot be written.',
    file: at('write/finalizer'),
    edits: [["if (typeof metadataOf(object)['uid'] !== 'string')", "if (metadataOf(object)['uid'] === null)"]],
    test: 'unit/adapters/kubernetes/writer.test.ts',
    named: 'rejects a run of an object without a uid',
  },
]
