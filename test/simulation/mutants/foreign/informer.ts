import type { Mutant } from '../mutate.js'

/** The informer, its sources, waits and errors. */
export const foreignMutantsOfInformer: readonly Mutant[] = [
  {
    // relist() over two sources, of which one backs off, the other is listed again, then the failing one is removed
    // before its next list begins, and nothing is committed afterwards.
    name: 'the removal of a source does not look again at open waits',
    kind: 'set',
    breaks:
      'relist() resolves when the whole source has been read again; it does not wait for a source that was removed.',
    file: 'informer/informer.ts',
    edits: [
      [
        '        this.#routing.openIfListed()\n        this.#waits.recheck()\n',
        '        this.#routing.openIfListed()\n',
      ],
    ],
  },
  {
    // Two subscriptions, of which the earlier one is idle and the later one has a handler that hangs.
    name: 'the search for stuck handlers ends at the first follower that is not stuck',
    breaks:
      'health({ stuckAfterMs }) is not ready and names the key while any handler or run has been running for longer.',
    file: 'informer/informer-status.ts',
    edits: [
      [
        'if (running === undefined || ranMs <= ms) continue',
        'if (running === undefined || ranMs <= ms) return undefined',
      ],
    ],
  },
  {
    // fresh() times out, or its signal aborts, after head has answered and before the store includes that version.
    name: 'a fresh() that ended early leaves its wait for the version behind',
    breaks:
      'hasWaiters of a watch is true only while a caller waits for a version, and a wait that is over leaves nothing.',
    file: 'informer/informer-waits.ts',
    edits: [['await this.forRunner(runner, version, { signal })', 'await this.forRunner(runner, version, {})']],
  },
  {
    // relist() is called while a list is on its way, and the source changes after that list took its snapshot.
    name: 'relist() counts a list that had begun before the call',
    breaks: 'relist() reads the whole source again after the call, and resolves when that is in the store.',
    file: 'informer/informer-waits.ts',
    edits: [['lists: runner.reflector.lists }', 'lists: runner.listed }']],
  },
  {
    // EPOCH_CHANGED of a source whose versions do not name their epoch, and a subscription whose handler has not
    // yet handled the list that followed when its waitFor is called.
    name: 'a mirror marks its list as current before it counts a new history',
    breaks: 'No version of a history that is over answers waitFor of a subscription.',
    file: 'informer/source-history.ts',
    edits: [
      [
        '    if (!this.#isCurrent) this.#number++\n    this.#isCurrent = true\n',
        '    this.#isCurrent = true\n    if (!this.#isCurrent) this.#number++\n',
      ],
    ],
  },
  {
    // A waitFor for a mark of another epoch is reading the head of the source, which does not answer, when stop()
    // or the removal of the source comes.
    name: 'the end of a mirror leaves its epoch check running',
    breaks: 'After stop() has settled there is no timer and no request open (I15).',
    file: 'informer/source-runner.ts',
    edits: [['    this.waiters.rejectAll(reason)\n    this.#epochs?.end()\n', '    this.waiters.rejectAll(reason)\n']],
  },
  {
    // until() whose condition holds at the call, and a commit after it.
    name: 'a wait that settles at once is not unregistered',
    breaks:
      'until() is over once its condition holds; the condition is not called again after that, and nothing is kept.',
    file: 'util/deadline.ts',
    edits: [['if (isSettled) unregister()', 'if (isSettled) return']],
  },
  {
    // Two waits when EPOCH_CHANGED comes: the first for a mark that isLaterEpoch calls later, the second for a
    // mark of the old history.
    name: 'a fork stops at the first wait for a mark of a later epoch',
    breaks: 'EPOCH_CHANGED rejects every wait for a mark of the history that is over.',
    file: 'subscriptions/version-waiters.ts',
    edits: [['isLaterEpoch?.(at, mark) === true) continue', 'isLaterEpoch?.(at, mark) === true) return']],
  },
  {
    // A key goes from its first source to the one that claimed it, is deleted there or given up, and then meets
    // the same conflict again.
    name: 'the claims to a released key are kept',
    kind: 'set',
    breaks:
      'A key that two sources have is reported each time that this becomes so; a source is relisted only for a key it may get.',
    file: 'store/key-ownership.ts',
    edits: [
      [
        '    const claimants = this.#claims.get(key)\n    this.#claims.delete(key)\n    return claimants',
        '    return this.#claims.get(key)',
      ],
    ],
  },
  {
    // A source throws a SourceError that names its phase but not its source, and a listener reads `source` of the
    // reported error.
    name: 'an error that has a phase and no source is passed on without a source',
    breaks: 'The source of a SourceError is filled in by the core if a source leaves it out.',
    file: 'contract/errors.ts',
    edits: [
      [
        'if (known?.phase !== undefined && known.source !== undefined) return known',
        'if (known?.phase !== undefined) return known',
      ],
    ],
  },
  {
    // An informer without a logger, and a source that ignores its signal and calls warn after stop() has settled.
    name: 'a warning of a source is emitted after the informer was closed',
    breaks: 'After stop() has settled nothing is emitted any more (I15).',
    file: 'informer/informer-events.ts',
    edits: [
      ['  warning(message: string): void {\n    if (this.#isClosed) return\n', '  warning(message: string): void {\n'],
    ],
  },
  {
    // A source is added to the set of a running informer, and a status listener creates another informer of the
    // set, or removes that source, while it is being added.
    name: 'a source set notifies its followers of a source before it holds it',
    kind: 'set',
    breaks: 'Whatever comes and goes, also inside a listener, every informer of a set has the same sources.',
    file: 'informer/source-set.ts',
    edits: [
      [
        '    this.#sources.set(name, source)\n    this.#notify((listener) => listener.added(name, source))',
        '    this.#notify((listener) => listener.added(name, source))\n    this.#sources.set(name, source)',
      ],
    ],
  },
  {
    // synced() of a group is called with a signal that aborted before the call, while a member has no list yet.
    name: 'synced of a group ignores a signal that has aborted already',
    kind: 'group',
    breaks: 'A wait rejects with the reason of its signal when that has aborted.',
    file: 'informer/informer-group.ts',
    edits: [['    if (signal?.aborted) abort()\n', '']],
  },
  {
    // A driver throws a string with a password, or an error whose cause is such a string.
    name: 'a thrown value that is not an error is not redacted',
    breaks: 'Passwords and tokens in the error of a driver appear in no message and no cause of an error.',
    file: 'util/redact.ts',
    edits: [
      [
        "redact(typeof message === 'string' ? message : textOf(thrown))",
        "typeof message === 'string' ? redact(message) : textOf(thrown)",
      ],
    ],
  },
  {
    // A subscribe over a set is refused because of a wrong option, and afterwards a source is added to the set or
    // removed from it.
    name: 'a turn that throws is never given back',
    kind: 'set',
    breaks: 'A source that is added to a set is mirrored, and one that is removed takes its objects with it.',
    file: 'util/run-to-completion.ts',
    edits: [
      [
        '    try {\n      return action()\n    } finally {\n      this.#running--\n      this.#drain()\n    }',
        '    const result = action()\n    this.#running--\n    this.#drain()\n    return result',
      ],
    ],
  },
]
