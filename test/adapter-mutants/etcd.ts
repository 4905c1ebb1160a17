import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/etcd/${file}.ts`

export const etcdMutants: readonly AdapterMutant[] = [
  {
    name: 'resumes one revision too far',
    breaks: 'nothing is missed',
    file: at('watch/watch-loop'),
    edits: [['startRevision: from.revision + 1', 'startRevision: from.revision + 2']],
    test: 'etcd/connections.test.ts',
    named: 'by a reset is resumed',
    server: 'etcd 3.6',
  },
  {
    name: 'takes the revision of a header for that of the last event',
    breaks: 'a version is a safe point to resume from',
    file: at('watch/watch-loop'),
    edits: [
      [
        '      this.#position.apply(part)\n',
        '      this.#position.apply(part)\n      this.#position.advanceTo(message.header.revision)\n',
      ],
    ],
    test: 'etcd/guarantees.test.ts',
    named: 'also right after it was opened, is delivered completely \\(endpoints\\)',
    server: 'etcd 3.6',
  },
  {
    name: 'believes old servers',
    breaks: 'a bookmark comes only after all earlier events were delivered',
    file: at('transport/server-version'),
    edits: [['return patch >= 25', 'return patch >= 24']],
    test: 'etcd/options.test.ts',
    named: 'progress notifications of etcd 3.4.24',
  },
  {
    name: 'believes every server',
    breaks: 'a bookmark comes only after all earlier events were delivered',
    file: at('watch/watch-loop'),
    edits: [['status !== undefined && hasReliableProgress(status.version)', 'true']],
    test: 'etcd/guarantees.test.ts',
    named: 'progress notifications of servers that may be wrong are ignored',
    server: 'etcd 3.4',
  },
  {
    name: 'recognises every history',
    breaks: 'a restore is noticed',
    file: at('history/history-check'),
    edits: [
      [
        '  const seen = await readNewest(session, range, version, revision)',
        '  if (version.term > 0) return new HistoryFingerprint(count)\n  const seen = await readNewest(session, range, version, revision)',
      ],
    ],
    test: 'etcd/restores.test.ts',
    named: 'ahead of the mirror after the reconnect, with the same ids and the same term \\(endpoints\\)',
    server: 'etcd 3.6',
  },
  {
    name: 'does not compare how many keys there were',
    breaks: 'a restore is noticed',
    file: at('history/history-check'),
    edits: [['seen.count !== count', 'seen.count < 0']],
    test: 'etcd/restores.test.ts',
    named: 'if only the number of keys shows it',
    server: 'etcd 3.6',
  },
  {
    name: 'does not compare the newest entry',
    breaks: 'a restore is noticed',
    file: at('history/history-check'),
    edits: [
      ['found.length === 0 || found.length !== kvs.length', 'found.length < 0'],
      ['!found.some((kv) => digestOf(kv) === digest)', 'found.length < 0'],
    ],
    test: 'etcd/restores.test.ts',
    named: 'if only the newest entry shows it',
    server: 'etcd 3.6',
  },
  {
    name: 'does not compare the content of the newest entry',
    breaks: 'a restore is noticed',
    file: at('history/history-check'),
    edits: [['!found.some((kv) => digestOf(kv) === digest)', 'found.length < 0']],
    test: 'etcd/restores.test.ts',
    named: 'the same key was written at the same revision, with another value',
    server: 'etcd 3.6',
  },
  {
    name: 'waits for a revision that went back',
    breaks: 'a restore is noticed',
    file: at('history/history-check'),
    edits: [['head.revision < version.revision', 'head.revision < 0']],
    test: 'etcd/restores.test.ts',
    named: 'if the revision went back \\(endpoints\\)',
    server: 'etcd 3.6',
  },
  {
    name: 'reads no newest entry if those it knew are deleted',
    breaks: 'a restore is noticed',
    file: at('watch/watch-position'),
    edits: [['if (this.#newest.isUnknown) await', 'if (this.#revision < 0) await']],
    test: 'etcd/restores.test.ts',
    named: 'each history deleted one key, and the mirrored one its newest',
    server: 'etcd 3.6',
  },
  {
    name: 'takes another cluster for its own',
    breaks: 'marks of another cluster are refused',
    file: at('history/etcd-version'),
    edits: [['here.clusterId !== there.clusterId', 'here.revision < 0']],
    test: 'etcd/restores.test.ts',
    named: 'has another token',
    server: 'etcd 3.6',
  },
  {
    name: 'requests no audit because of an election',
    breaks: 'a change that no proof can see is audited',
    file: at('history/history-check'),
    edits: [['head.term !== version.term', 'head.term < 0']],
    test: 'etcd/restores.test.ts',
    named: 'is found by an audit right after the reconnect \\(term\\)',
    server: 'etcd 3.6',
  },
  {
    name: 'requests no audit because of the log of the members',
    breaks: 'a change that no proof can see is audited',
    file: at('history/history-check'),
    edits: [['status.raftIndex >= version.raftIndex', 'status.raftIndex >= 0']],
    test: 'etcd/restores.test.ts',
    named: 'is found by an audit right after the reconnect \\(index\\)',
    server: 'etcd 3.6',
  },
  {
    name: 'believes every list',
    breaks: 'a list of another history is EPOCH_CHANGED',
    file: at('etcd-source'),
    edits: [['if (context.floor !== undefined)', 'if (context.shown === null)']],
    test: 'etcd/due-lists.test.ts',
    named: 'if its revision is behind ours \\(relist',
    server: 'etcd 3.6',
  },
  {
    name: 'delivers the fragments of a message as they come',
    breaks: 'a revision is delivered whole',
    file: at('watch/fragments'),
    edits: [['if (this.#rest.length === 0 && !isFragment) return events', 'if (events !== undefined) return events']],
    test: 'etcd/guarantees.test.ts',
    named: 'arrives in fragments, completely',
    server: 'etcd 3.6',
  },
  {
    name: 'requests no fragments',
    breaks: 'a catch-up larger than a client takes is delivered',
    file: at('transport/etcd3-transport'),
    edits: [['    hasFragments: true,', '    hasFragments: false,']],
    test: 'etcd/guarantees.test.ts',
    named: 'arrives in fragments, completely',
    server: 'etcd 3.6',
  },
  {
    name: 'has no deadline for the silence of a watch',
    breaks: 'a peer that is gone is noticed within stallMs',
    file: at('watch/watch-loop'),
    edits: [['if (now - this.#activeAt >= stallMs) throw', 'if (stallMs < 0) throw']],
    test: 'etcd/strange-servers.test.ts',
    named: 'that no longer responds, though its server does',
  },
  {
    name: 'waits without a limit for events that a watch keeps back',
    breaks: 'a dead watch is noticed',
    file: at('watch/watch-loop'),
    edits: [['if (silentMs >= stallMs) throw', 'if (silentMs < 0) throw']],
    test: 'etcd/strange-servers.test.ts',
    named: 'is healthy while it delivers all events',
  },
  {
    name: 'has no deadline for answers',
    breaks: 'a peer that never answers is noticed',
    file: at('transport/session'),
    edits: [['        ms: timeoutMs,\n', '        ms: timeoutMs * 1_000,\n']],
    test: 'etcd/connections.test.ts',
    named: 'is retried at another endpoint',
    server: 'etcd 3.6',
  },
  {
    name: 'goes to the same endpoint again',
    breaks: 'another endpoint is tried',
    file: at('transport/grpc-transport'),
    edits: [['        next++\n', '        next += 0\n']],
    test: 'etcd/connections.test.ts',
    named: 'is retried at another endpoint',
    server: 'etcd 3.6',
  },
  {
    name: 'requires no leader',
    breaks: 'a member that is cut off ends its watch',
    file: at('transport/grpc-transport'),
    edits: [['if (requireLeader) metadata', 'if (!requireLeader) metadata']],
    test: 'etcd/cluster.test.ts',
    named: 'cut off from the others ends its watch',
    server: 'etcd 3.6',
  },
  {
    name: 'delivers again what it has delivered',
    breaks: 'an event is delivered once',
    file: at('watch/watch-loop'),
    edits: [['kv.modRevision > revision && isEntryInRange', 'isEntryInRange']],
    test: 'etcd/strange-servers.test.ts',
    named: 'twice',
  },
  {
    name: 'delivers events outside of its range',
    breaks: 'only the range is mirrored',
    file: at('watch/watch-loop'),
    edits: [['kv.modRevision > revision && isEntryInRange(kv, range)', 'kv.modRevision > revision']],
    test: 'etcd/strange-servers.test.ts',
    named: 'outside of the range',
  },
  {
    name: 'continues with another cluster',
    breaks: 'another cluster is another history',
    file: at('watch/watch-loop'),
    edits: [['message.header.clusterId !== this.#position.clusterId', 'message.header.revision < 0']],
    test: 'etcd/strange-servers.test.ts',
    named: 'another cluster',
  },
  {
    name: 'does not handle the failure of a page that no consumer takes',
    breaks: 'a list that was stopped ends no process',
    file: at('range-pages'),
    edits: [['    next?.catch(() => {}) // The consumer may have stopped.\n', '']],
    test: 'unit/adapters/etcd/range-pages.test.ts',
    named: 'does not report the failure of the next one',
  },
  {
    name: 'reads later pages as they are now',
    breaks: 'a list is one snapshot',
    file: at('range-pages'),
    edits: [['key: keyAfter(last.key), revision: header.revision', 'key: keyAfter(last.key), revision: 0']],
    test: 'etcd/guarantees.test.ts',
    named: 'between two pages of a list',
    server: 'etcd 3.6',
  },
  {
    name: 'names a list by its last page',
    breaks: 'a list is one snapshot',
    file: at('range-pages'),
    edits: [['yield { header, count,', 'yield { header: page.header, count,']],
    test: 'etcd/guarantees.test.ts',
    named: 'between two pages of a list',
    server: 'etcd 3.6',
  },
  {
    name: 'ignores progress requests',
    breaks: 'the position is proved when a caller waits',
    file: at('watch/watch-loop'),
    edits: [['callbacks.onProgressRequest(() => inbox.addProgressRequest())', 'callbacks.onProgressRequest(() => {})']],
    test: 'conformance/etcd.test.ts',
    named: 'with endpoints .*answers a progress request',
    server: 'etcd 3.6',
  },
  {
    name: 'takes what differs for the same',
    breaks: 'a position that is found by comparing is true',
    file: at('watch/watch-loop'),
    edits: [
      [
        'count === fingerprint.count && kvs.every(({ modRevision }) => modRevision <= revision)',
        'count >= 0 && kvs.every(({ modRevision }) => modRevision <= Infinity + revision)',
      ],
      ['      assertNewest(seen, fingerprint)\n', ''],
    ],
    test: 'etcd/values.test.ts',
    named: 'a mark is the revision in the response to a write',
    server: 'etcd 3.4',
  },
  {
    name: 'takes all that comes, however slow its reader is',
    breaks: 'memory stays bounded',
    file: at('watch/watch-inbox'),
    edits: [['      this.#stream.pause()\n', '']],
    test: 'etcd/connections.test.ts',
    named: 'with a slow reader',
    server: 'etcd 3.6',
  },
  {
    name: 'takes compaction under a watch for a failure',
    breaks: 'when the history is gone everything is read again',
    file: at('watch/watch-loop'),
    edits: [['if (compactRevision > 0) return', 'if (compactRevision < 0) return']],
    test: 'etcd/connections.test.ts',
    named: 'stands still while the history is compacted',
    server: 'etcd 3.6',
  },
  {
    name: 'catches up from however far',
    breaks: 'a server is not made to catch up from far',
    file: at('watch/watch-loop'),
    edits: [['if (behind > maxCatchup)\n', 'if (behind < 0)\n']],
    test: 'etcd/connections.test.ts',
    named: 'for longer than maxCatchup',
    server: 'etcd 3.6',
  },
  {
    name: 'keeps a token that has expired',
    breaks: 'it signs in again',
    file: at('transport/grpc-transport'),
    edits: [
      ['this.#token.auth === undefined || !isTokenError(error)', 'isTokenError(error) || this.#token.auth !== null'],
    ],
    test: 'etcd/auth.test.ts',
    named: 'after the token has expired',
    server: 'etcd 3.6',
  },
  {
    name: 'stops at a value that does not decode',
    breaks: 'one bad value never stops the mirror',
    file: at('entry-codec'),
    edits: [["return { type: 'invalid', key, error, version }", 'throw error']],
    test: 'etcd/values.test.ts',
    named: 'a codec that throws on one value',
    server: 'etcd 3.6',
  },
  {
    name: 'closes no connection',
    breaks: 'nothing is left after a stop',
    file: at('transport/grpc-transport'),
    edits: [['systemClock.sleep(0).then(() => this.#client.close())', 'systemClock.sleep(0)']],
    test: 'etcd/connections.test.ts',
    named: 'by a reset is resumed, without a list \\(endpoints\\)',
    server: 'etcd 3.6',
  },
  {
    name: 'closes a connection before it has begun',
    breaks: 'nothing is left after a stop',
    file: at('transport/grpc-transport'),
    edits: [['systemClock.sleep(0).then(() => this.#client.close())', 'this.#client.close()']],
    test: 'etcd/connections.test.ts',
    named: 'aborted before it is open',
    server: 'etcd 3.6',
  },
  {
    name: 'lets a closed channel connect once more',
    breaks: 'nothing is left after a stop',
    file: at('transport/grpc-transport'),
    edits: [['patchCredentials(credentials, (socket) => this.#connected(socket))', 'credentials']],
    test: 'etcd/connections.test.ts',
    named: 'that was refused, and is no longer wanted',
    server: 'etcd 3.6',
  },
  // Defects by authors who had read SPEC.md and the adapters, and no test.
  {
    // The last page that the server sends has exactly a multiple of the pageSize that the core requested.
    name: 'the last page of a list has no version if its size is a multiple of pageSize',
    breaks: 'The last page of a list names the version of the whole list.',
    file: at('etcd-source'),
    edits: [['begin + size), begin + size >= all.length]', 'begin + size), begin + size > all.length]']],
    test: 'conformance/etcd.test.ts',
    named: 'with endpoints .*is complete at every page size, even if the objects fill the last page',
    server: 'etcd 3.6',
  },
  {
    // Two watches in a row from one version break off quickly, before their first event, while the server is ahead
    // of that version.
    name: 'two watches that break at once while behind count as stuck',
    breaks:
      'A reset connection is resumed from the last event; only watches without progress for a time lead to a list.',
    file: at('etcd-source'),
    edits: [
      ['    const openedAt = clock.now()\n', ''],
      ['      isStuck &&= clock.now() - openedAt >= this.#progressMs\n', ''],
    ],
    test: 'etcd/strange-servers.test.ts',
    named: 'watches that fail at once',
  },
  {
    // One message has more than 1 000 events of several revisions, and the watch ends between its parts and is
    // resumed.
    name: 'the first part of a large message carries the version of its last part',
    breaks: 'The version of a batch is a safe resume point: nothing after it counts as delivered, nothing is lost.',
    file: at('watch/watch-loop'),
    edits: [
      [
        '    for (const part of wholeRevisions(events)) {\n      this.#position.apply(part)',
        '    this.#position.apply(events)\n    for (const part of wholeRevisions(events)) {',
      ],
    ],
    test: 'etcd/strange-servers.test.ts',
    named: 'each part of a large message',
  },
  {
    // A server before 3.4.25 or 3.5.8 answers a progress request with a revision whose events it sends only
    // afterwards.
    name: 'a progress answer of an old server moves the position',
    breaks:
      'A resume version never passes an event that was not delivered; old servers that report progress too early are not trusted.',
    file: at('watch/watch-loop'),
    edits: [
      ['if (this.#isTrusted) this.#position.advanceTo(header.revision)', 'this.#position.advanceTo(header.revision)'],
    ],
    test: 'etcd/strange-servers.test.ts',
    named: 'an old server that names a later revision',
  },
  {
    // The watch passes no progress on, and after the first comparison the history is replaced by one with the same
    // term and no lower revision.
    name: 'behind a proxy contents are compared only once',
    breaks: 'A backup restored behind the grpc-proxy is noticed by the newest entry while the watch stays open.',
    file: at('watch/watch-loop'),
    edits: [
      [
        'if (now - this.#comparedAt >= stallMs) await this.#compare()',
        'if (now - this.#activeAt >= stallMs) await this.#compare()',
      ],
    ],
    test: 'etcd/strange-servers.test.ts',
    named: 'replaced while the watch stays open',
  },
  {
    // On a server whose progress is not used a caller waits (a nudge) while the delete of a key that is not the
    // newest has happened and was not delivered yet.
    name: 'the comparison with the server ignores the number of keys',
    breaks:
      'A delete that is still on its way is delivered; the position is proved only if the server has as many keys.',
    file: at('watch/watch-loop'),
    edits: [
      [
        'const isEqual = ({ count, kvs }: NewestEntries): boolean =>\n      count === fingerprint.count && kvs.every(',
        'const isEqual = ({ kvs }: NewestEntries): boolean =>\n      kvs.every(',
      ],
    ],
    test: 'etcd/strange-servers.test.ts',
    named: 'a pending delete',
  },
  {
    // The last message of a watch was a transaction of several keys, and the watch is then resumed from there.
    name: 'the proof reads only one key of the transaction that wrote the newest',
    breaks: 'The same history is resumed without a list: EPOCH_CHANGED comes only for another one.',
    file: at('history/history-check'),
    edits: [['const isOneTransaction = seen.hasMore && ', 'const isOneTransaction = !seen.hasMore && ']],
    test: 'etcd/values.test.ts',
    named: 'is recognised at a reconnect',
    server: 'etcd 3.6',
  },
  {
    // A backup is restored and gets past the revision that was shown, with the same cluster id and no lower term,
    // while a list with `shown` is due.
    name: 'a list after `shown` ignores the result of the proof of the history',
    breaks:
      'A list due after a restored backup is judged as a resumed watch is: EPOCH_CHANGED, and waits for lost writes reject.',
    file: at('history/history-check'),
    edits: [
      [
        "if (!(error instanceof SourceError) || error.code !== 'VERSION_EXPIRED') throw error",
        "if (!(error instanceof SourceError) || error.code === 'UNAVAILABLE') throw error",
      ],
    ],
    test: 'etcd/due-lists.test.ts',
    named: 'if its revision is past ours and the newest entry differs',
    server: 'etcd 3.6',
  },
  {
    // All remembered entries were deleted while others remain, a later write is there before the version is made,
    // and the watch is resumed from that version.
    name: 'the newest entries are refilled as they are now, not at the position',
    breaks:
      'A version carries the newest entry of its own revision, so that the same history is resumed without EPOCH_CHANGED.',
    file: at('watch/watch-position'),
    edits: [
      [
        'await refillFingerprint(this.#newest, session, range, this.#revision)',
        'await refillFingerprint(this.#newest, session, range, 0)',
      ],
    ],
    test: 'unit/adapters/etcd/watch-position.test.ts',
    named: 'at its own revision',
  },
  {
    // A batch of more than 32 events ends with a delete, and its earlier events delete or write the newest entries;
    // then the watch is resumed.
    name: 'only the last 32 events of a batch change what is remembered as newest',
    breaks: 'The proof in a version names the newest living entry: the same history is resumed without a list.',
    file: at('history/fingerprint'),
    edits: [['for (const { isDelete, kv } of isEnough ? last : events) {', 'for (const { isDelete, kv } of last) {']],
    test: 'etcd/fingerprint.test.ts',
    named: 'after a large batch that ends with deletes',
  },
  {
    // Something is written while a list of more than one page is being read.
    name: 'a list takes the revision of its last page for its version',
    breaks: 'A list is one consistent snapshot at the version that it names; writes during the list come by the watch.',
    file: at('range-pages'),
    edits: [
      [
        'yield { header, count, kvs: page.kvs, remaining }',
        'yield { header: page.header, count, kvs: page.kvs, remaining }',
      ],
    ],
    test: 'etcd/guarantees.test.ts',
    named: 'between two pages of a list',
    server: 'etcd 3.6',
  },
  {
    // Over a slow line a page of large entries fails after several pages of small ones, and the list is read again.
    name: 'quick small pages lift the limit that a failed page has set',
    breaks:
      'After a page that did not arrive in time, the next list requests fewer keys per page until it is complete.',
    file: at('page-limit'),
    edits: [
      [
        'this.#learned.timelyKeys = Math.min(4 * this.#learned.timelyKeys, this.#learned.mostTimelyKeys)',
        'this.#learned.timelyKeys *= 4',
      ],
    ],
    test: 'unit/adapters/etcd/page-limit.test.ts',
    named: 'do not lift the limit',
  },
  {
    // One message has more than 1 000 events, and a transaction of several keys lies across the 1 000th.
    name: 'a large message is cut within a revision',
    breaks: 'A revision is delivered whole or not at all; a batch is atomic, and its version safe to resume from.',
    file: at('watch/fragments'),
    edits: [
      [
        'if (events[end]?.kv.modRevision === events[end - 1]?.kv.modRevision) continue',
        'if (events[end]?.kv.modRevision === events[begin]?.kv.modRevision) continue',
      ],
    ],
    test: 'unit/adapters/etcd/fragments.test.ts',
    named: 'and never within one',
  },
  {
    // The first request of a list or watch fails at the only or last endpoint, or the signal aborts while it is
    // under way.
    name: 'the last session that fails is not closed',
    breaks:
      'Whatever fails or is stopped leaves no connection and no listener; the next attempt begins at the next endpoint.',
    file: at('transport/session'),
    edits: [
      [
        '        session.close()\n        if (tries <= 1 || options.signal.aborted || !isUnavailable(error)) throw error',
        '        if (tries <= 1 || options.signal.aborted || !isUnavailable(error)) throw error\n        session.close()',
      ],
    ],
    test: 'etcd/connections.test.ts',
    named: 'that was refused, and is no longer wanted',
    server: 'etcd 3.6',
  },
  {
    // A list over a shared Etcd3 is stopped while a request is under way, and others use the client.
    name: 'a call that is no longer wanted is ended as a timeout of the client',
    breaks: 'An informer that stops does no harm to other users of a shared Etcd3.',
    file: at('transport/etcd3-transport'),
    edits: [["if (reason === 'unwanted') return", "if (reason === 'unwanted' && current === undefined) return"]],
    test: 'unit/adapters/etcd/client-calls.test.ts',
    named: 'that is unwanted',
  },
  {
    // The signal of an open watch aborts.
    name: 'a watch that was aborted does not cancel its stream',
    breaks: 'After a stop no connection and no stream is left.',
    file: at('watch/watch-inbox'),
    edits: [
      [
        '    this.#ending ??= ABORTED\n    this.#messages.length = 0\n',
        '    this.#messages.length = 0\n    if (this.#ending !== undefined) return\n    this.#ending = ABORTED\n',
      ],
    ],
    test: 'unit/adapters/etcd/watch-inbox.test.ts',
    named: 'cancels its stream',
  },
  {
    // With endpoints, a backup is restored with the same term, number of keys and newest entry, and a lower raft
    // index; then the watch reconnects.
    name: 'the raft term of a member is taken for its raft index',
    breaks: 'If the members have agreed on less than the version says, all is audited within 10 s.',
    file: at('transport/etcd-messages'),
    edits: [['else if (tag === 40) raftIndex = reader.varint()', 'else if (tag === 48) raftIndex = reader.varint()']],
    test: 'etcd/restores.test.ts',
    named: 'is found by an audit right after the reconnect \\(index\\)',
    server: 'etcd 3.6',
  },
  {
    // The prefix is given in bytes, and its last byte is 0xff.
    name: 'the end of a prefix that ends with 0xff keeps too many bytes',
    breaks: 'A prefix mirrors all keys that begin with it, whatever its bytes are.',
    file: at('transport/key-range'),
    edits: [['start.subarray(0, last)', 'start.subarray(0, -1)']],
    test: 'etcd/values.test.ts',
    named: 'a range has the keys',
    server: 'etcd 3.6',
  },
  // Leases.
  {
    name: 'renewals of leases are compared as texts',
    breaks: 'Renewals are compared as numbers.',
    file: at('leases/lease-session'),
    edits: [["String(renewal).padStart(RENEWAL_DIGITS, '0')", "String(renewal).padEnd(RENEWAL_DIGITS, ' ')"]],
    test: 'conformance/leases/etcd.test.ts',
    named: 'with endpoints .*renewals are compared as numbers',
    server: 'etcd 3.6',
  },
  {
    name: 'a lease is evicted if it was renewed',
    breaks: 'An eviction removes a record only if its renewal is unchanged.',
    file: at('leases/lease-session'),
    edits: [
      [
        "      { key, is: 'less', value: Buffer.from(`${text}!`) },\n",
        "      { key, is: 'less', value: Buffer.from('~') },\n",
      ],
    ],
    test: 'conformance/leases/etcd.test.ts',
    named: 'with endpoints .*an eviction leaves a record with another renewal',
    server: 'etcd 3.6',
  },
  {
    name: 'the leases of another group are read',
    breaks: 'Two groups do not see each other.',
    file: at('leases/lease-session'),
    edits: [['${encodeURIComponent(group)}/`', '${encodeURIComponent(group)}`']],
    test: 'conformance/leases/etcd.test.ts',
    named: 'with endpoints .*two groups do not see each other',
    server: 'etcd 3.6',
  },
  {
    name: 'a lease of a restored backup counts',
    breaks: 'A restored backup is another epoch.',
    file: at('leases/lease-session'),
    edits: [['this.#rewinds.epoch(header.clusterId)', 'header.clusterId']],
    test: 'etcd/leases.test.ts',
    named: 'a restored backup is another epoch',
    server: 'etcd 3.6',
  },
]
