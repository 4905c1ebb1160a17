import type { Mutant } from './mutate.js'

const kind = 'relay'
const folder = '../adapters/relay'

/** A relay passes a mirror on through an engine. */
export const mutantsOfRelays: readonly Mutant[] = [
  {
    name: 'a mirror is restored without the objects that cannot be read',
    breaks: 'a relay does not restore a mirror that lacks objects of the source',
    file: `${folder}/relay-cache.ts`,
    edits: [['  if (unreadable.size > 0) {\n', '  if (unreadable.size > 1) {\n']],
    onlyBy: {
      test: 'unit/adapters/relay/other-versions.test.ts',
      named: 'a text that this version of the relay cannot read',
    },
  },
  {
    name: 'a watch receives a header that it cannot read again and again',
    breaks: 'a follower continues after an upgrade of its relay was rolled back',
    file: `${folder}/relay-source.ts`,
    edits: [['const header = laterHeaderIn(change)', 'const header = headerIn(change)']],
    onlyBy: { test: 'unit/adapters/relay/other-versions.test.ts', named: 'a follower continues after an upgrade' },
  },
  {
    name: 'a text that is not JSON ends every comparison of the store',
    breaks: 'a relay replaces a text that it cannot read',
    file: `${folder}/relay-texts.ts`,
    edits: [["fieldsOf(text)['version']", "parsed(text)['version']"]],
    onlyBy: {
      test: 'unit/adapters/relay/other-versions.test.ts',
      named: 'a text that this version of the relay cannot read',
    },
  },
  {
    name: 'the first part of a large batch counts as a whole one',
    breaks: 'followers see a batch as a whole (true state)',
    kind,
    file: `${folder}/store-writer.ts`,
    edits: [
      [
        'else if (changes.length < this.#store.maxChanges) await this.#send(changes, this.#before(reached), false, context)',
        'else if (changes.length < this.#store.maxChanges) await this.#send(changes, this.#before(reached), true, context)',
      ],
    ],
  },
  {
    name: 'a follower shows the parts of a large batch',
    breaks: 'followers see a batch as a whole (true state)',
    kind,
    file: `${folder}/relay-source.ts`,
    edits: [['      if (isWhole) {', '      if (version !== "") {']],
  },
  {
    name: 'a follower lists a part of a batch',
    breaks: 'a list is a state of the upstream (true state)',
    kind,
    file: `${folder}/relay-source.ts`,
    edits: [
      ['if (header.isWhole) return header', 'return header'],
      ['yield end === undefined || header?.isWhole === false', 'yield end === undefined'],
    ],
  },
  {
    name: 'a relay that is behind the store writes',
    breaks: 'the store never goes back (order)',
    kind,
    file: `${folder}/version-order.ts`,
    edits: [["return source.hasReached(at, mark) ? 'reached' : 'behind'", "return 'reached'"]],
  },
  {
    name: 'another history of the upstream is not another epoch',
    breaks: 'an upstream epoch change is one for followers (epoch)',
    kind,
    file: `${folder}/publisher.ts`,
    edits: [['const isOther = history !== undefined && history !== this.#history', 'const isOther = false']],
  },
  {
    name: 'a batch whose request was lost is not written again',
    breaks: 'each batch is written (true state)',
    kind,
    file: `${folder}/publisher.ts`,
    edits: [["else if (outcome === 'missing' && this.#unwritten !== undefined)", 'else if (this.#host === undefined)']],
  },
  {
    name: 'a relay continues after the write of another one',
    breaks: 'a relay continues only after its own last write (true state)',
    kind,
    file: `${folder}/store-writer.ts`,
    edits: [
      [
        "if (header?.writer !== this.#id || !header.isWhole) return 'other'",
        "if (header === undefined) return 'other'",
      ],
    ],
  },
  {
    name: 'a relay continues although the engine lost writes',
    breaks: 'lost writes are noticed (true state)',
    kind,
    file: `${folder}/store-writer.ts`,
    edits: [
      ["return header.write === this.#confirmed && !this.#isElsewhere ? 'missing' : 'other'", "return 'missing'"],
    ],
  },
  {
    name: 'a relay continues after the write of another client',
    breaks: 'what another client has written to the store is found and removed',
    file: `${folder}/store-writer.ts`,
    edits: [['this.#confirmed && !this.#isElsewhere ?', 'this.#confirmed ?']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'what another client has written to its store',
    },
  },
  {
    name: 'the first epoch after a lost header is always the same',
    breaks: 'followers see another epoch after the header was removed',
    file: `${folder}/store-writer.ts`,
    edits: [['epoch: Math.max(this.#epoch + 1, Math.floor(context.clock.now() / 1_000)),', 'epoch: 0,']],
    onlyBy: { test: 'unit/adapters/relay/meeting-operations.test.ts', named: 'begins another epoch' },
  },
  {
    name: 'a list fails if it ends while the store has a part of a batch',
    breaks: 'a follower can start while the relay writes large batches without a pause',
    file: `${folder}/relay-source.ts`,
    edits: [['if (end === undefined || header?.isWhole !== false) return\n', 'if (end !== "") return\n']],
    onlyBy: { test: 'unit/adapters/relay/meeting-operations.test.ts', named: 'a follower has a state soon' },
  },
  {
    name: 'a relay that begins later continues from the restored content',
    breaks: 'a relay continues from the content that it has restored (true state)',
    kind,
    file: `${folder}/publisher.ts`,
    edits: [['= this.#stream.isFirst ? invalidOf', '= true ? invalidOf']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'after its mirror has restored the store',
    },
  },
  {
    name: 'a relay that has written counts as at the restored content',
    breaks: 'after a batch, equal headers do not prove equal content (true state)',
    file: `${folder}/mirror-stream.ts`,
    edits: [['      this.#isFirst = false\n', '']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'compares the store after a failover to the restored content',
    },
  },
  {
    name: 'a relay that restored its mirror forgets which objects are invalid in the store',
    breaks: 'invalid objects are passed on, and valid ones too (Y10)',
    file: `${folder}/publisher.ts`,
    edits: [['    this.#stream.beginsWith(invalid)\n', '']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'writes that an invalid object has its last state again',
    },
  },
  {
    name: 'a store that lacks objects is restored',
    breaks: 'a relay that starts again has all objects of the source (Y4)',
    file: `${folder}/relay-cache.ts`,
    edits: [['if (unrelayed > 0) {', 'if (unrelayed < 0) {']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'does not restore a store that lacks objects',
    },
  },
  {
    name: 'an incomplete store is restored',
    breaks: 'only a whole store is restored (true state)',
    file: `${folder}/relay-cache.ts`,
    edits: [['if (!header.isWhole) {', 'if (header.writer === "") {']],
    onlyBy: {
      test: 'unit/adapters/relay/relay.test.ts',
      named: 'while a large batch is only partly written',
    },
  },
  {
    name: 'the header of a store that was flushed meanwhile is restored',
    breaks: 'a mirror is restored from one state of the store (true state)',
    file: `${folder}/relay-cache.ts`,
    edits: [['let header: RelayHeader | undefined', 'let header: RelayHeader | undefined = before']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'does not restore the content of a store that is flushed between two reads',
    },
  },
  {
    name: 'a comparison does not write what the store lacks',
    breaks: 'after a comparison the store equals the mirror (true state)',
    kind,
    file: `${folder}/difference.ts`,
    edits: [['if (!found.has(stored)) differing.set(stored, false)', 'found.add(stored)']],
  },
  {
    name: 'a relay without changes does not read the position of the store',
    breaks: 'what another relay wrote is corrected (true state)',
    file: `${folder}/publisher.ts`,
    edits: [['if (position !== this.#writer.position) throw', 'if (position === "") throw']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'repeats a comparison that failed, although the store has the version of the mirror',
    },
  },
  {
    name: 'a batch that was read when the relay lost its term is forgotten',
    breaks: 'each batch is written (true state)',
    kind,
    file: `${folder}/mirror-stream.ts`,
    edits: [['this.#reading ??= this.#batches.next()', 'this.#reading = this.#batches.next()']],
  },
  {
    name: 'a follower compares positions of another epoch of the upstream',
    breaks: 'a mark of an older epoch is not reached (wait)',
    file: `${folder}/relay-version.ts`,
    edits: [['if (here.epoch !== there.epoch) throw upstreamChanged()', '']],
    onlyBy: {
      test: 'unit/adapters/relay/relay.test.ts',
      named: 'with another history: followers see EPOCH_CHANGED, and waits for the old history reject',
    },
  },
  {
    name: 'a drain of a relay waits for the next attempt',
    breaks: 'a drain ends the delay before the next attempt (Y13)',
    file: `${folder}/publisher.ts`,
    edits: [['      this.#retry.hurry()\n', '']],
    onlyBy: { test: 'unit/adapters/relay/relay.test.ts', named: 'with drainMs ends the delay before the next attempt' },
  },
  {
    name: 'a relay that makes progress waits as long as one that does not',
    breaks: 'delays begin again after an attempt that wrote changes (Y13)',
    file: `${folder}/publisher.ts`,
    edits: [['    this.#retry.progressed(this.#writer.parts)\n', '']],
    onlyBy: { test: 'unit/adapters/relay/relay.test.ts', named: 'a relay whose attempts write a part each' },
  },
  {
    name: 'a relay without a lease names an error that is over',
    breaks: 'a relay names the error of its leases until a renewal succeeds (Y14)',
    file: 'subscriptions/replicas/replica-gate.ts',
    edits: [['      this.#failure = undefined\n', '']],
    onlyBy: { test: 'unit/adapters/relay/relay.test.ts', named: 'does not name an error of the leases that is over' },
  },
  {
    name: 'a relay without a lease shows the password of its engine',
    breaks: 'a relay names the error of its leases without the password of the engine (Y14)',
    file: `${folder}/leadership.ts`,
    edits: [['redact(failure.message)', 'failure.message']],
    onlyBy: { test: 'unit/adapters/relay/relay.test.ts', named: 'a relay whose leases cannot be reached says so' },
  },
  {
    name: 'a new relay says that another relay may write',
    breaks: 'a new relay names the time for which it waits (Y14)',
    file: `${folder}/leadership.ts`,
    edits: [['if (!isNew)', 'if (isNew || !isNew)']],
    onlyBy: { test: 'unit/adapters/relay/relay.test.ts', named: 'with leases the second waits' },
  },
  {
    name: 'a list of a follower does not wait for the rest of a batch',
    breaks: 'a list waits for the rest of a batch (Y12)',
    file: `${folder}/relay-source.ts`,
    edits: [['const REST_MS = 20_000', 'const REST_MS = 0']],
    onlyBy: { test: 'unit/adapters/relay/relay.test.ts', named: 'while a large batch is only partly written' },
  },
  {
    name: 'a relay continues from the content of any cache',
    breaks: 'a relay whose mirror another cache has restored compares the store (Y4a)',
    kind,
    file: `${folder}/relay-cache.ts`,
    edits: [
      [
        'return isSame ? from.invalid : undefined',
        'return saved === undefined || (from !== undefined && !isSame) ? undefined : (from?.invalid ?? new Map())',
      ],
    ],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'over a mirror that another cache has restored',
    },
  },
  {
    name: 'a relay continues from content that its store had before',
    breaks: 'a relay compares a store that was written since its mirror was restored (Y4a)',
    kind,
    file: `${folder}/relay-cache.ts`,
    edits: [[' && from.header.writer === now?.writer && from.header.write === now.write', ' && now !== undefined']],
  },
  {
    name: 'a store that takes long to read is not restored',
    breaks: 'a relay that starts again continues from what the engine has (Y4)',
    kind,
    file: `${folder}/relay-cache.ts`,
    edits: [['    alive() // A large', '    // A large']],
    onlyBy: {
      test: 'unit/adapters/relay/meeting-operations.test.ts',
      named: 'restores a store that takes minutes to read',
    },
  },
]
