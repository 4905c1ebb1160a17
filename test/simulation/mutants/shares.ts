import type { Mutant } from './mutate.js'

const kind = 'share'
const folder = '../adapters/share'

/** One mirror for all threads: ports, and snapshots in shared memory. */
export const mutantsOfShares: readonly Mutant[] = [
  {
    name: 'a closed port leaves its requests in the share',
    breaks: 'the end of a worker ends its watches (released)',
    kind,
    file: `${folder}/port-server.ts`,
    edits: [['    for (const exchange of [...exchanges.values()]) exchange.abort()\n', '']],
  },
  {
    name: 'a watch is sent without a bound',
    breaks: 'a watch that is not read has at most 256 KiB and one batch on its way (bounded)',
    kind,
    file: `${folder}/port-server.ts`,
    edits: [['return this.#unreadBytes < WINDOW_BYTES', 'return bytes.length < WINDOW_BYTES']],
  },
  {
    name: 'a watch that has waited for its reader is not resumed',
    breaks: 'a watch continues when it is read (live)',
    kind,
    file: `${folder}/port-server.ts`,
    edits: [
      [
        '    const isWaiting = this.#unreadBytes >= WINDOW_BYTES\n    this.#unreadBytes -= bytes\n',
        '    this.#unreadBytes -= bytes\n    const isWaiting = this.#unreadBytes >= WINDOW_BYTES\n',
      ],
    ],
  },
  {
    name: 'the share forgets a request that its follower aborts, and continues it',
    breaks: 'a follower that stops ends its watch in the share (released)',
    kind,
    file: `${folder}/port-server.ts`,
    edits: [['exchanges.get(id)?.abort()', 'exchanges.delete(id)']],
  },
  {
    name: 'requests wait for a port that was closed',
    breaks: 'a follower whose port is closed is failed (status)',
    kind,
    file: `${folder}/port-client.ts`,
    edits: [["    port.on('close', () => this.#endAll(closedPort()))\n", '']],
  },
  {
    name: 'requests are sent to a port that was closed before',
    breaks: 'a follower whose port is closed stays failed (status)',
    kind,
    file: `${folder}/port-client.ts`,
    edits: [['if (!this.#port.hasRef()) return reject(closedPort())', '']],
  },
  {
    name: 'a port keeps the process alive until its last request but one',
    breaks: 'a port without requests does not keep the process alive (released)',
    kind,
    file: `${folder}/port-client.ts`,
    edits: [['if (this.#exchanges.size === 0) this', 'if (this.#exchanges.size === 1) this']],
  },
  {
    name: 'bytes are reported as read again and again',
    breaks: 'a watch that is not read has a bounded number of bytes on its way (bounded)',
    kind,
    file: `${folder}/frame-body.ts`,
    edits: [['    this.#takenBytes = 0\n', '']],
  },
  {
    name: 'the share is not told that a request was aborted',
    breaks: 'a follower that stops ends its watch in the share (released)',
    kind,
    file: `${folder}/port-client.ts`,
    edits: [["        this.#port.postMessage({ type: 'abort', id } satisfies FollowerMessage)\n", '']],
  },
  {
    name: 'a closed port counts as a share that is away',
    breaks: 'the error of a closed port is NOT_FOUND (status)',
    kind,
    file: `${folder}/port-client.ts`,
    edits: [["new SourceError(message, { code: 'NOT_FOUND' })", "new SourceError(message, { code: 'UNAVAILABLE' })"]],
  },
  {
    name: 'a follower does not hear that its snapshot is being packed',
    breaks: 'a follower waits for the first list of the share without a list of its own (calm)',
    kind,
    file: `${folder}/port-client.ts`,
    edits: [["if (message.type === 'alive') this.#alive()", "if (message.type === 'end') this.#alive()"]],
  },
  {
    name: 'the share says only once that it works on a snapshot',
    breaks: 'a follower waits for the first list of the share without a list of its own (calm)',
    kind,
    file: `${folder}/shared-snapshots.ts`,
    edits: [
      [
        '      for (;;) {\n        await this.#clock.sleep(ALIVE_MS',
        '      {\n        await this.#clock.sleep(ALIVE_MS',
      ],
    ],
  },
  {
    name: 'a snapshot that was opened is still reported as being packed',
    breaks: 'an answered request leaves no timer (released)',
    kind,
    file: `${folder}/shared-snapshots.ts`,
    edits: [['opened.abort(ABORTED)', 'if (signal.aborted) opened.abort(ABORTED)']],
  },
  {
    name: 'each follower has a packer of its own',
    breaks: 'the objects are packed once for all followers (calm)',
    kind,
    file: `${folder}/shared-snapshots.ts`,
    edits: [['        this.#packers.set(feed, packer)\n', '']],
  },
  {
    name: 'a share that is not synced yet has no snapshot',
    breaks: 'a follower waits for the first list of the share without a list of its own (calm)',
    kind,
    file: `${folder}/shared-snapshots.ts`,
    edits: [['if (!isTemporary || signal.aborted)', 'if (isTemporary || signal.aborted)']],
  },
  {
    name: 'lost access does not reach the snapshots',
    breaks: 'after lost access no follower receives an earlier snapshot (access)',
    kind,
    file: `${folder}/share-informer.ts`,
    edits: [
      [
        'this.#mirror = mirrorHandler(informer, { ...options, scope }, { onCleared })',
        'this.#mirror = mirrorHandler(informer, { ...options, scope }, { onCleared: () => onCleared })',
      ],
    ],
  },
  {
    name: 'the pinned objects of a snapshot stay pinned',
    breaks: 'a snapshot that is packed releases the objects (released)',
    kind,
    file: `${folder}/snapshot-packer.ts`,
    edits: [['        pinned.close()\n', '']],
  },
  {
    name: 'a follower that starts from an earlier snapshot counts as synced at once',
    breaks: 'a follower is synced when it is as new as a list (new)',
    kind,
    file: `${folder}/snapshot-packer.ts`,
    edits: [['until: this.#feed.position.sequence', 'until: packed.at.sequence']],
  },
  {
    name: 'a snapshot is never dropped before its feed ends',
    breaks: 'a snapshot that no later follower can use is not kept (released)',
    kind,
    file: `${folder}/snapshot-packer.ts`,
    edits: [['        this.#dropOld()\n', '']],
  },
  {
    name: 'a feed that has ended keeps its snapshot',
    breaks: 'no snapshot is kept when all followers are gone (released)',
    kind,
    file: `${folder}/snapshot-packer.ts`,
    edits: [['      this.#packed = undefined // The feed has ended.\n', '']],
  },
  {
    name: 'followers that join together pack one after the other',
    breaks: 'the objects are packed once for all followers (calm)',
    kind,
    file: `${folder}/snapshot-packer.ts`,
    edits: [['this.#packing ??= this.#pack()', 'this.#packing = this.#pack()']],
  },
  {
    name: 'each join packs the objects again',
    breaks: 'a snapshot is used again (calm)',
    kind,
    file: `${folder}/snapshot-packer.ts`,
    edits: [
      [
        'if (this.#packed !== undefined) return this.#packed',
        'if (this.#packed === undefined) this.#failedAt = undefined',
      ],
    ],
  },
  {
    name: 'a follower does not know how far a snapshot is behind',
    breaks: 'a follower is synced when it is as new as a list (new)',
    kind,
    file: `${folder}/shared-snapshot.ts`,
    edits: [['resumeState: String(until)', 'resumeState: undefined']],
  },
  {
    name: 'a block is written at the beginning of its piece',
    breaks: 'packed objects are those of the share (calm)',
    kind,
    file: `${folder}/shared-memory.ts`,
    edits: [['piece.set(block, this.#at)', 'piece.set(block)']],
  },
  {
    name: 'a port with a scope has the snapshot of all objects',
    breaks: 'a port with a scope has only the objects of that scope (true state)',
    kind,
    file: `${folder}/share-informer.ts`,
    edits: [['.length === 0 ? this', '.length <= 1 ? this']],
  },
  {
    name: 'a share that is closed leaves its ports open',
    breaks: 'a follower whose share is closed is failed (status)',
    kind,
    file: `${folder}/share-informer.ts`,
    edits: [['    for (const port of this.#ports) port.close()\n', '']],
  },
  {
    name: 'a snapshot of a source counts as a list',
    breaks: 'a mirror is synced after the first batch behind its snapshot (new)',
    kind,
    file: 'informer/source-cache.ts',
    edits: [['return !this.servesStale && this.#savedTo !== undefined', 'return !this.servesStale']],
  },
  {
    name: 'the changes since a snapshot are applied one after the other',
    breaks: 'with its first batch a mirror is as new as a list (new)',
    kind,
    file: '../adapters/http/http-source.ts',
    edits: [['if (sequence >= until) return', 'if (sequence <= until) return']],
  },
  {
    name: 'the watch of a request that was collected does not end with it',
    breaks: 'a watch ends when the signal of its request aborts',
    file: '../adapters/http/mirror-feed.ts',
    edits: [
      [
        'this.#followers.set(follower, { since: this.#clock.now(), request })',
        'this.#followers.set(follower, { since: this.#clock.now(), request: new Request(request) })',
      ],
    ],
    onlyBy: {
      test: 'unit/adapters/http/delivery.test.ts',
      named: 'a watch ends when its signal aborts, also after the garbage collector has run',
    },
  },
]
