import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/redis/${file}.ts`

export const redisMutants: readonly AdapterMutant[] = [
  // Defects by authors who had read SPEC.md and the adapters, and no test.
  {
    // A field of the next part is overwritten between the two requests, while a list of several parts is read.
    name: 'a list requests the next part of the hash before the newest entries',
    breaks: 'A list is exact: no page is older than an entry of the log that was delivered before it.',
    file: at('collection/collection-source'),
    edits: [
      [
        "      const changes = reader.read(at)\n      if (next !== '0') {\n        scan = reader.scan(next)\n        scan.catch(() => {}) // The consumer may have stopped.\n      }\n",
        "      if (next !== '0') {\n        scan = reader.scan(next)\n        scan.catch(() => {}) // The consumer may have stopped.\n      }\n      const changes = reader.read(at)\n",
      ],
    ],
    test: 'redis/list-order.test.ts',
    named: 'shows all that was written just before any XREAD',
    server: 'redis 7.0',
  },
  {
    // Entries come more often than every blockMs, and another client adds or deletes a field without the writer.
    name: 'a watch with continuous changes is never proved again',
    breaks: 'During continuous writes, foreign writes and a lost master role are found after five times blockMs.',
    file: at('collection/collection-source'),
    edits: [['        if (clock.now() >= again) break\n', '']],
    test: 'redis/by-hand.test.ts',
    named: 'found also during continuous writes',
    server: 'redis 7.0',
  },
  {
    // Hash and meta of a collection were deleted and its stream was not, and a watch resumes from the version of
    // absence.
    name: 'an absent collection forgets which older entries are left in the stream',
    breaks: 'What is left of an older history is never delivered as the beginning of the next one.',
    file: at('collection/collection-reader'),
    edits: [
      [
        'if (newest !== undefined) this.#before = textOf(repliesIn(newest)[0])',
        "if (newest !== undefined) this.#before = '0-0'",
      ],
    ],
    test: 'redis/by-hand.test.ts',
    named: 'remains of a deleted collection is not a part of the next one',
    server: 'redis 7.0',
  },
  {
    // Some of the entries that a watch or list needs next were trimmed, and later ones are still there.
    name: 'the chain is compared before the gap in the numbers',
    breaks:
      'Entries that were trimmed are VERSION_EXPIRED, which rejects no waits; EPOCH_CHANGED is for another history.',
    file: at('collection/change-log'),
    edits: [
      [
        '  if (position.sequence > at.sequence + 1)\n    throw expired(`entries ${at.sequence + 1} to ${position.sequence - 1} were trimmed${KEEP}`)\n  if (previous !== at.chain) throw forked(`entry ${position.sequence} follows another entry ${at.sequence}`)\n',
        '  if (previous !== at.chain) throw forked(`entry ${position.sequence} follows another entry ${at.sequence}`)\n  if (position.sequence > at.sequence + 1)\n    throw expired(`entries ${at.sequence + 1} to ${position.sequence - 1} were trimmed${KEEP}`)\n',
      ],
    ],
    test: 'redis/mutants.test.ts',
    named: 'the mirror is right again if a part of the entries written meanwhile was trimmed',
    server: 'redis 7.0',
  },
  {
    // A failover lost the write that a caller waits for, and the new master has another entry of that number.
    name: 'a mark of a fork with the same number counts as reached',
    breaks: 'Waits for writes that were lost reject with EPOCH_CHANGED; they never resolve.',
    file: at('collection/collection-version'),
    edits: [
      [
        "  if (here.sequence === there.sequence && here.chain !== there.chain) throw otherHistory('the history was forked')\n",
        '',
      ],
    ],
    test: 'redis/version.test.ts',
    named: 'a version .*one of a fork',
  },
  {
    // apply with ifVersion loses its answer after it was written, the second attempt is NOT_WRITTEN, and the third
    // meets its own entry.
    name: 'a call that was refused forgets that an earlier one may have been written',
    breaks: 'The same apply with ifVersion is recognised: it returns the version of its own entry instead of CONFLICT.',
    file: at('collection/collection-writer'),
    edits: [
      [
        "if (!(error instanceof RedisWriteError) || error.code === 'CONFLICT') return",
        "if (!(error instanceof RedisWriteError) || error.code !== 'OUTCOME_UNKNOWN') return",
      ],
    ],
    test: 'redis/writer.test.ts',
    named: 'also if an attempt in between was not sent',
    server: 'redis 7.0',
  },
  {
    // A writer with shards has an ifVersion, and the shard has moved on.
    name: 'a writer with shards drops ifVersion',
    breaks: 'With ifVersion nothing is written if the collection is at another version: CONFLICT.',
    file: at('collection/redis-writer'),
    edits: [
      [
        '  async apply(changes: readonly RedisChange<T>[], options: ApplyOptions = {}): Promise<Version> {\n    checkChanges(changes)\n    const names',
        '  async apply(changes: readonly RedisChange<T>[]): Promise<Version> {\n    checkChanges(changes)\n    const names',
      ],
      ['return await shard.apply(changes, options)', 'return await shard.apply(changes)'],
    ],
    test: 'redis/writer.test.ts',
    named: 'with shards writes only at the version',
    server: 'redis 7.0',
  },
  {
    // A writer that has written before over its connection receives MOVED, and continues.
    name: 'a writer keeps counting answered commands as waiting',
    breaks: 'A connection that is left after MOVED or READONLY is closed once its last answer has come.',
    file: at('collection/writer-connection'),
    edits: [['    this.#pending.delete(session)\n', '']],
    test: 'redis/failover.test.ts',
    named: 'the writer leaves it, and writes to the new master',
    server: 'redis 7.0',
  },
  {
    // The hash of a relay is deleted by hand, and the relay writes a change.
    name: 'a write of a relay does not look at the number of fields',
    breaks: 'A relay whose collection has lost fields writes everything again.',
    file: at('collection/writer-script'),
    edits: [["ARGV[5] == 'exact' and count ~= size", "ARGV[5] == 'exact' and false"]],
    test: 'redis/relay.test.ts',
    named: 'the hash is deleted, and the next write',
    server: 'redis 7.0',
  },
  {
    // The hash of a relay is deleted by hand, and nothing changes.
    name: 'a read of a relay does not look at the number of fields',
    breaks: 'A relay finds within 5 s that its collection has lost fields, also without a change.',
    file: at('collection/collection-reader'),
    edits: [['    if (at?.count === size) return', '    if (at !== undefined) return']],
    test: 'redis/relay.test.ts',
    named: 'some fields of the hash are deleted, and the relay',
    server: 'redis 7.0',
  },
  {
    // apply deletes a key that the collection does not have.
    name: 'a delete of a field that is not there lowers the count of fields',
    breaks: 'A delete of an unknown key changes nothing: the collection stays whole and can be listed.',
    file: at('collection/writer-script'),
    edits: [
      [
        "    count = count - redis.call('HDEL', hash, ARGV[i + 1])",
        "    redis.call('HDEL', hash, ARGV[i + 1])\n    count = count - 1",
      ],
    ],
    test: 'redis/writer.test.ts',
    named: 'deletes an absent key',
    server: 'redis 7.0',
  },
  {
    // An entry of a stream has a field with bytes that are not UTF-8.
    name: 'a stream returns damaged texts',
    breaks:
      'Fields of a stream are UTF-8: an entry with other bytes is invalid, not an object with replaced characters.',
    file: at('stream/stream-decode'),
    edits: [["if (text.includes('\\ufffd') && !isUtf8(bytes)) throw", 'if (false) throw']],
    test: 'redis/stream.test.ts',
    named: 'a field that is not UTF-8',
    server: 'redis 7.0',
  },
  {
    // A slot has moved, MOVED was followed, and later the new node dies and its replica takes over.
    name: 'a route keeps the address of MOVED after that server is gone',
    breaks: 'When a node of a cluster is replaced by its replica, sources and writers follow.',
    file: at('connection/cluster-route'),
    edits: [['    this.#moved = undefined\n', '']],
    test: 'redis/cluster.test.ts',
    named: 'if the server that MOVED named is gone',
    server: 'redis 7.0',
  },
  {
    // The server has a client-output-buffer-limit below 4 MiB, and there is more data than that.
    name: 'a lost answer does not halve the size of later ones',
    breaks:
      'If the server closes connections with too large a response, request sizes are halved until the list comes through.',
    file: at('connection/adaptive-page-size'),
    edits: [['Math.min(this.#bytes, bytes / 2)', 'Math.min(this.#bytes, bytes)']],
    test: 'redis/version.test.ts',
    named: 'is halved when a connection is lost during it',
  },
  {
    // The stream is flushed, recreated or forked while the snapshot function runs, and the new one may have the id
    // of the snapshot.
    name: 'the end of the stream is read after the snapshot instead of before it',
    breaks:
      'What happens to a stream while its snapshot is on the way is noticed: EPOCH_CHANGED, and another snapshot is requested.',
    file: at('stream/stream-source'),
    edits: [
      [
        '    const end = this.#options.snapshot === undefined ? undefined : await this.#end(context)\n    const start = await unlessAborted(signal, () => this.#options.snapshot?.({ signal }))\n',
        '    const start = await unlessAborted(signal, () => this.#options.snapshot?.({ signal }))\n    const end = start === undefined ? undefined : await this.#end(context)\n',
      ],
    ],
    test: 'redis/stream-checks.test.ts',
    named: 'is recreated meanwhile, with the same ids, and another content',
    server: 'redis 7.0',
  },
  {
    // Entries that were not read yet are trimmed while a list with whenTrimmed fold continues.
    name: 'a list with fold counts the entries that were gone when it began',
    breaks: 'A stream may be trimmed while it is listed with fold: the list is what is left and all that came.',
    file: at('stream/stream-reader'),
    edits: [['added: isLenient ? undefined : gone }', 'added: gone }']],
    test: 'redis/stream.test.ts',
    named: 'is folded during continuous writes and trimming',
    server: 'redis 7.0',
  },
  {
    // More than ten entries are added in one millisecond, or ids have different lengths, and one is compared with
    // another.
    name: 'ids of streams are compared as texts',
    breaks:
      'Order and history of a stream are judged by the numbers of its ids; a whole stream does not count as another history.',
    file: at('stream/stream-version'),
    edits: [['  if (a.length !== b.length) return a.length - b.length\n', '']],
    test: 'redis/version.test.ts',
    named: 'a position in a stream .*an earlier id',
  },
  {
    // Keys are replaced at once (server restarted empty, or FLUSHALL), then what was there before is back after
    // another such break.
    name: 'a watch of keys keeps its old version after it has replaced everything',
    breaks:
      'After a lost connection everything is read again; a state that differs from the last emitted one is emitted.',
    file: at('keys/keys-source'),
    edits: [['      version = found\n', '']],
    test: 'redis/keys-consistency.test.ts',
    named: 'after a second FLUSHALL',
    server: 'redis 7.0',
  },
  {
    // Keys are read in several portions, and a transaction writes keys of two of them between the reads.
    name: 'values of several reads count as one moment if the same keys changed',
    breaks: 'What one transaction writes to plain keys is seen together.',
    file: at('keys/tracked-keys'),
    edits: [
      [
        'const isConsistent = responses === 1 && isWithin(this.#invalidated, names)',
        'const isConsistent = isWithin(this.#invalidated, names)',
      ],
    ],
    test: 'redis/keys-consistency.test.ts',
    named: 'has large values that were written between the responses',
    server: 'redis 7.0',
  },
  {
    // FLUSHALL happens within a watch and other keys are written, old and new ones together being more than maxKeys.
    name: 'keys that are gone after everything was read again still count',
    breaks: 'Only as many keys as there are count for maxKeys: a mirror below it never fails.',
    file: at('keys/tracked-keys'),
    edits: [['      this.#present.clear()\n', '']],
    test: 'redis/keys.test.ts',
    named: 'that FLUSHALL deleted do not count',
    server: 'redis 7.0',
  },
  {
    // A server becomes a replica under a watch, while writes never pause.
    name: 'a watch of keys checks the server only in silence',
    breaks: 'A replica, which may be behind, is left also if writes never pause.',
    file: at('keys/keys-source'),
    edits: [['if (changes.size === 0 || clock.now() >= checkAt) {', 'if (changes.size === 0) {']],
    test: 'redis/keys.test.ts',
    named: 'though writes never pause',
    server: 'redis 7.0',
  },
  {
    // Two databases are swapped under a watch: the server sends no invalidation.
    name: 'a watch of keys does not notice SWAPDB',
    breaks: 'A live mirror of keys equals the database, whichever command replaced its keys.',
    file: at('keys/keys-source'),
    edits: [['          if (await keys.hasSwapped()) break\n', '']],
    test: 'redis/keys.test.ts',
    named: 'are read again after SWAPDB',
    server: 'redis 7.0',
  },
  {
    // The caller fills the same array again before the writer has connected and sent the first call.
    name: 'a writer does not copy the bytes that it was given',
    breaks: 'Bytes that a codec or caller passes to apply are copied at the call: changing them later changes nothing.',
    file: at('connection/codec'),
    edits: [
      [
        'if (value instanceof Uint8Array) return Buffer.from(value)',
        'if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)',
      ],
    ],
    test: 'redis/codec.test.ts',
    named: 'may encode repeatedly into one buffer',
    server: 'redis 7.0',
  },
  // Leases.
  {
    name: 'a lease is created by a later renewal',
    breaks: 'A later renewal of a missing record is refused.',
    file: at('leases/lease-script'),
    edits: [['if (not found) ~= (renewal == 0) or (found', 'if (found and renewal == 0) or (found']],
    test: 'conformance/leases/redis.test.ts',
    named: 'ioredis 6 .*a later renewal is refused',
    server: 'redis 7.0',
  },
  {
    name: 'a lease is evicted before the renewal is checked',
    breaks: 'A refused renewal evicts no record.',
    file: at('leases/lease-script'),
    edits: [
      [
        "local old = redis.call('HGET', leases, me)",
        "for i = 5, #ARGV, 2 do redis.call('HDEL', leases, ARGV[i]) end\nlocal old = redis.call('HGET', leases, me)",
      ],
    ],
    test: 'conformance/leases/redis.test.ts',
    named: 'ioredis 6 .*a refused renewal evicts no record',
    server: 'redis 7.0',
  },
  {
    name: 'a fence of leases follows the clock alone',
    breaks: 'A clock of the server that was set back does not make a fence smaller.',
    file: at('leases/lease-script'),
    edits: [
      ["local fence = math.max(now, tonumber(redis.call('HGET', leases, 'fence') or '0') + 1)", 'local fence = now'],
    ],
    test: 'redis/leases.test.ts',
    named: 'a clock of the server that was set back',
    server: 'redis 7.0',
  },
  {
    name: 'the epoch of leases is the same after a failover',
    breaks: 'A failover, which may lose writes, is another epoch.',
    file: at('leases/lease-script'),
    edits: [
      ["local reply = { fenceText, run .. ':' .. history, nowText }", "local reply = { fenceText, 'e', nowText }"],
    ],
    test: 'conformance/leases/faults.test.ts',
    named: 'a failover by Sentinel, waitForReplicas: undefined',
    server: 'redis 7.0',
  },
  {
    name: 'a lease counts before the replicas have it',
    breaks: 'With waitForReplicas, a renewal counts when enough replicas have it.',
    file: at('leases/lease-session'),
    edits: [['if (reached >= waitForReplicas) return', 'if (reached >= 0) return']],
    test: 'redis/leases.test.ts',
    named: 'a renewal that has not reached enough replicas',
    server: 'redis 7.0',
  },
]
