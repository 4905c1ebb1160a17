import type { Mutant } from '../mutate.js'

/** Reading a source, waiting for it, and what it may bring. */
export const foreignMutantsOfReflector: readonly Mutant[] = [
  {
    // A watch throws EPOCH_CHANGED, and the source looks at `shown` in the list that follows, for example to throw
    // EPOCH_CHANGED for a version of another history.
    name: 'a list after EPOCH_CHANGED names to the source what the old history showed',
    breaks:
      'ListContext.shown is undefined if versions are no longer trusted, so that a list of a new history is not judged by the old one.',
    file: 'reflector/reflector.ts',
    edits: [['const floor = ignoreVersions ? undefined : this.#version', 'const floor = this.#version']],
  },
  {
    // The watch yields a batch whose version equals the last one and which has a put whose key is missing or not a
    // string.
    name: 'a batch under the last version passes malformed events on to the store',
    breaks:
      'An object without a key is invalid and never stored, also in a batch that is repeated under the last version.',
    file: 'reflector/reflector.ts',
    edits: [['outcomeOf(valid) : valid', 'outcomeOf(batch.events) : valid']],
  },
  {
    // An epoch change is recovered from by a list, and a later relist for another reason (VERSION_EXPIRED,
    // relist()) gets an older list.
    name: 'the first list after EPOCH_CHANGED leaves later lists without a floor',
    breaks: 'I11: a list older than what was shown is refused as STALE_LIST, unless the epoch changed.',
    file: 'reflector/reflector-state.ts',
    edits: [
      [
        "...memoryOf(state),\n      saved: undefined,\n      name: 'connecting',\n      openedAt,",
        "...memoryOf(state),\n      ignoreVersions: state.ignoreVersions,\n      saved: undefined,\n      name: 'connecting',\n      openedAt,",
      ],
      [
        'if (isWatching(state)) return nextListOf(state)',
        'if (isWatching(state)) return { ...nextListOf(state), ignoreVersions: Object(state).ignoreVersions === true }',
      ],
    ],
  },
  {
    // A working watch breaks, is reopened at once, and breaks again before it was live for 1 s; the delay after
    // that is measured.
    name: 'a first reconnect without a delay doubles the distance of later opens',
    breaks:
      'The first reconnect comes at once and D does not grow: the delays of the second reconnect are those of a first one.',
    file: 'reflector/reflector-state.ts',
    edits: [['const isImmediate = state.retryAt === state.immediateAt', 'const isImmediate = false']],
  },
  {
    // The source sends something some time after the open, and then is silent for good while the moment of the
    // time-out is measured.
    name: 'the silence of a source counts from the last look, not from the last contact',
    breaks:
      'A source that sends nothing for twice heartbeatMs and 5 s more counts as dead then, not up to twice as late.',
    file: 'reflector/attempt.ts',
    edits: [['        since = this.#contactAt\n', '        since = this.#clock.now()\n']],
  },
  {
    // Several keys wait, some set later for an earlier time, and more than 16 times go out of date because keys
    // were set earlier or run before.
    name: 'delays are out of order after entries that are out of date were dropped',
    breaks: 'enqueue with delayMs runs the key after that many milliseconds, not only when a later key is due.',
    file: 'queue/delay-queue.ts',
    edits: [['.sort(([a], [b]) => a - b)', '']],
  },
  {
    // In a group with maxRelists, one relist takes longer than five minutes and then ends while others run and
    // wait.
    name: 'a relist that outlasted its turn of five minutes frees a second place at its end',
    kind: 'group',
    breaks: 'At most maxRelists members of a group read their sources again at a time.',
    file: 'informer/relist-limiter.ts',
    edits: [['          if (turn.signal.aborted) return\n', '']],
  },
  {
    // An asynchronous handler settles so that none runs, and a later handler of the same subscription hangs.
    name: 'a hanging handler is not reported once all earlier handlers had settled',
    breaks: 'A handler that never settles is reported after 10 s.',
    file: 'subscriptions/slow-handler-monitor.ts',
    edits: [['    this.#timer = undefined\n', '']],
  },
  {
    // A wait for a foreign mark has a head request under way that will return the old epoch, and meanwhile a second
    // wait begins for a mark of the new epoch.
    name: 'a head that was requested before a wait began decides about that wait',
    breaks:
      'A wait for a mark of another epoch continues if the source, read after the wait began, is in the epoch of the mark.',
    file: 'informer/epoch-check.ts',
    edits: [
      ['      const asked = [...this.#waiting]\n      this.#waiting.clear()\n', ''],
      ['of asked) if', 'of this.#waiting) if'],
      ['        attempt.abort(ABORTED)\n', '        this.#waiting.clear()\n        attempt.abort(ABORTED)\n'],
    ],
  },
  {
    // fresh() resolves, the informer is stopped within 30 s of that, and the timers that are left are counted.
    name: 'fresh leaves the time-out of its answered head request running',
    breaks: 'I15: after stop() has settled there is no callback, timer, socket or listener.',
    file: 'informer/head-request.ts',
    edits: [
      ['    attempt.abort(ABORTED)\n', ''],
      ['import { ABORTED, OptionError, SourceError,', 'import { OptionError, SourceError,'],
    ],
  },
  {
    // What the audit reads names a key twice, first with an object that differs from the store and then with the
    // one that the store has, or its delete.
    name: 'an audit takes the earlier of two events of a key in a list for a difference',
    breaks: 'Of a key twice in a list the later event counts, and an audit finds nothing if nothing is wrong.',
    file: 'informer/audit.ts',
    edits: [['      if (doubtful.size > 0) doubtful.delete(key)\n', '']],
  },
  {
    // The store is nearly full, and a relist changes more objects than there is room left, while the number of
    // objects stays within the limit.
    name: 'a list that updates more objects than there is room for is refused',
    breaks: 'Only more than maxObjects objects make a list refused; one that fits is applied.',
    file: 'store/capacity.ts',
    edits: [
      ['for (const key of pending.keys()) if (store.ordinalOf(key) === undefined) size++', 'size += pending.size'],
    ],
  },
  {
    // An object comes with a new version and content that is equal (for example after transform), and then
    // entry(key).version is read or an audit by `versions` runs.
    name: 'an object with equal content keeps its old version when its version moved on',
    breaks: 'An audit finds nothing if nothing is wrong, and entry() has the last version of the source.',
    file: 'store/ingest.ts',
    edits: [
      [
        'if (current.version === arrived.version && current.uid === arrived.uid) return UNCHANGED',
        'if (current.uid === arrived.uid) return UNCHANGED',
      ],
    ],
  },
  {
    // A schema or transform is an async function and its promise rejects for some object.
    name: 'an asynchronous schema that rejects leaves an unhandled rejection',
    breaks:
      'A transform or schema that refuses makes the object invalid and the mirror continues; it does not end the process.',
    file: 'informer/standard-schema.ts',
    edits: [['  Promise.resolve(result).catch(() => {})\n', '']],
  },
  {
    // Without audits a watch calls `prove`, and the informer is stopped while the comparison reads a source that
    // takes a moment to close.
    name: 'stop() does not wait for a comparison that only a proof has started',
    breaks: 'I15: stop() is over once the source has closed what it reads.',
    file: 'informer/source-audits.ts',
    edits: [['      this.#running = this.#audit.run(this.#signal)\n', '      void this.#audit.run(this.#signal)\n']],
  },
]
