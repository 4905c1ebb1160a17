import type { Mutant } from './mutate.js'

/** The runs of a controller, and their times. */
export const mutantsOfControllers: readonly Mutant[] = [
  {
    name: 'a controller runs a key twice at once',
    breaks: 'never one key twice at once',
    file: 'queue/work-queue.ts',
    edits: [['    if (this.#running.has(key)) {\n      this.#running.set(key, true)\n      return\n    }\n', '']],
  },
  {
    name: 'the last ready key stays the last of its list after it left',
    breaks: 'a key that is added after it is never run',
    file: 'queue/ready-keys.ts',
    edits: [['    if (next === undefined) this.#last = previous\n    else next', '    if (next !== undefined) next']],
  },
  {
    name: 'a key whose priority closes the queue stays ready',
    breaks: 'a controller that is closed ends',
    file: 'queue/work-queue.ts',
    edits: [['if (this.#isClosed) this.#ready.clear()\n    else if (isNew)', 'if (isNew)']],
    onlyBy: {
      test: 'unit/subscriptions/controller-flow.test.ts',
      named: 'may close the controller, which ends at once',
    },
  },
  {
    name: 'a ready key that leaves the middle of its list stays in it',
    breaks: 'a key that a change moves before the resynced keys takes those after it along',
    file: 'queue/ready-keys.ts',
    edits: [['    else previous.next = next\n', '']],
    onlyBy: { test: 'unit/queue/ready-keys.test.ts', named: 'ordered keys equal two arrays' },
  },
  {
    name: 'a reconcile that fails is not tried again',
    breaks: 'retried with backoff until it succeeds (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['    if (retryAt !== undefined) this.#queue.addBy(key, retryAt)\n', '']],
  },
  {
    name: 'a controller tries again and again at the same distance',
    breaks: 'further and further apart',
    file: 'subscriptions/pending-keys.ts',
    edits: [['    item.retry = grown(item.retry)\n', '']],
  },
  {
    name: 'a controller waits for longest after the first failure',
    breaks: 'the first distance is the shortest',
    file: 'subscriptions/controller.ts',
    edits: [['drawDelay(item.retry, this.#random)', 'this.#retry.maxMs']],
  },
  {
    name: 'a controller runs a failed key at once when it changes',
    breaks: 'a change may end the failure, but the next run does not come at once',
    file: 'subscriptions/controller.ts',
    edits: [['this.#queue.addBy(change.key, item.failedAt + this.#retry.minMs)', 'this.#queue.add(change.key)']],
  },
  {
    name: 'a controller does not count attempts',
    breaks: 'attempt is one more after each failure',
    file: 'subscriptions/pending-keys.ts',
    edits: [['    item.attempt++\n', '']],
  },
  {
    name: 'the signal of a run does not abort',
    breaks: 'after stop() the signal of every run has aborted (I15)',
    file: 'subscriptions/run-call.ts',
    edits: [['this.#owned?.signal ?? stop', 'this.#owned?.signal ?? new AbortController().signal']],
  },
  {
    name: 'requeueAfter is ignored',
    breaks: 'a key is run again when its run requested that',
    file: 'subscriptions/controller.ts',
    edits: [['if (requeueMs !== undefined && !this', 'if (requeueMs === 0 && !this']],
  },
  {
    name: 'requeueAfter is kept though something happened before',
    breaks: 'a key is not run again without a reason',
    file: 'subscriptions/controller.ts',
    edits: [['this.#queue.addBy(key, clock.now() + requeueMs)', 'this.#queue.addAt(key, clock.now() + requeueMs)']],
  },
  {
    name: 'requeueAfter counts for a run that failed',
    breaks: 'requeueAfter counts only if the run succeeded, otherwise the backoff does',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        'else this.#failed(key, item, error)\n',
        'else this.#failed(key, item, error)\n      if (requeueMs !== undefined) this.#queue.addBy(key, clock.now() + requeueMs)\n',
      ],
    ],
  },
  {
    name: 'requeueAfter comes twice as late',
    breaks: 'a key is run again when its run requested that',
    file: 'subscriptions/controller.ts',
    edits: [['clock.now() + requeueMs)', 'clock.now() + 2 * requeueMs)']],
  },
  {
    name: 'requeueAfter comes at half its time',
    breaks: 'a key is run again when its run requested that, and not before',
    file: 'subscriptions/controller.ts',
    edits: [['clock.now() + requeueMs)', 'clock.now() + requeueMs / 2)']],
  },
  {
    name: 'a delayed enqueue is lost',
    breaks: 'a key is run when that was requested',
    file: 'subscriptions/controller.ts',
    edits: [['else this.#queue.addAt(key, this.feed.host.clock.now() + options.delayMs)', '']],
  },
  {
    name: 'a delayed enqueue is lost when the key is run before',
    breaks: 'a key is run when that was requested, despite earlier runs',
    file: 'subscriptions/controller.ts',
    edits: [['else this.#queue.addAt(', 'else this.#queue.addBy(']],
  },
  {
    name: 'a delayed enqueue is not delayed',
    breaks: 'a key is run when that was requested, and not before',
    file: 'subscriptions/controller.ts',
    edits: [['else this.#queue.addAt(key, this.feed.host.clock.now() + options.delayMs)', 'else this.#queue.add(key)']],
  },
  {
    name: 'of several delays the last counts',
    breaks: 'of several delays of a key the one that ends first counts',
    file: 'queue/delay-queue.ts',
    edits: [['    if ((this.#due.get(key) ?? Infinity) <= due) return\n', '']],
  },
  {
    name: 'a time that is out of date takes a later one with it',
    breaks: 'a key is run when that was requested, despite other delays',
    file: 'queue/delay-queue.ts',
    edits: [
      [
        '      pop(this.#heap)\n    }\n  }\n}',
        '      this.#due.delete(first[1])\n      pop(this.#heap)\n    }\n  }\n}',
      ],
    ],
  },
  {
    name: 'an enqueue during a run that fails is put off',
    breaks: 'an enqueue may end the failure: the next run does not wait for the whole backoff',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        'const wasAdded = this.#queue.done(key, false)',
        'const wasAdded = item.duringRun !== undefined\n    this.#queue.done(key, false)',
      ],
    ],
  },
  {
    name: 'deleted is not passed',
    breaks: 'a run for a deleted key receives its last state',
    file: 'subscriptions/controller.ts',
    edits: [['deleted: deletion?.object,', 'deleted: undefined,']],
  },
  {
    name: 'deleted is passed once',
    breaks: 'a run for a deleted key receives its last state until one has succeeded',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        '    let requeueMs: number | undefined\n',
        '    let requeueMs: number | undefined\n    this.#deleted.delete(key)\n',
      ],
    ],
  },
  {
    name: 'deleted is passed without end',
    breaks: 'a run for a deleted key receives its last state until one has succeeded',
    file: 'subscriptions/controller.ts',
    edits: [['    if (deletion !== undefined && this.#deleted.get(key) === deletion) this.#deleted.delete(key)\n', '']],
  },
  {
    name: 'deleted is the first state that was deleted',
    breaks: 'a run for a deleted key receives its last state',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        "if (change.type === 'delete') this.#deleted.set(",
        "if (change.type === 'delete' && this.#deleted.has(change.key)) return\n    if (change.type === 'delete') this.#deleted.set(",
      ],
      ['    else this.#deleted.delete(change.key)\n', ''],
    ],
  },
  {
    name: 'a draining controller is not sealed',
    breaks: 'a draining controller runs nothing that is requested later, and waits for no delay (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['    this.#queue.drain()\n', '']],
  },
  {
    name: 'a draining controller runs what comes later',
    breaks: 'close({ drain }) ends although more changes come (I5)',
    file: 'subscriptions/controller.ts',
    edits: [
      ['    this.#queue.drain()\n    this.feed.stopAccepting(this.#skipped)\n', '    this.#queue.drain()\n'],
      ['    if (this.#queue.isDraining) this.feed.stopAccepting(this.#skipped)\n', ''],
    ],
  },
  {
    name: 'a draining controller drops what waits',
    breaks: 'close({ drain }) handles what waits at the call (I5)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [
      [
        'while (this.feed.closed === undefined && this.isBusy)',
        "while (this.feed.closed === undefined && this.isBusy && this.kind !== 'controller')",
      ],
    ],
  },
  {
    name: 'a draining controller waits for its runs, whatever closes it',
    breaks: 'any other close ends the draining as well (I15)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [
      [
        'while (this.feed.closed === undefined && this.isBusy)',
        "while ((this.feed.closed === undefined || this.kind === 'controller') && this.isBusy)",
      ],
    ],
  },
  {
    name: 'a draining controller does not notice deletions',
    breaks: 'runs receive the current state, also while the controller drains',
    maxSchedules: 4_000,
    file: 'subscriptions/controller.ts',
    edits: [
      [
        '    this.#queue.drain()\n    this.feed.stopAccepting(this.#skipped)\n',
        '    this.#queue.drain()\n    this.feed.stopAccepting()\n',
      ],
    ],
  },
  {
    name: 'the reason of a retry is another one',
    breaks: 'reason is retry for a run after a failure',
    file: 'subscriptions/pending-keys.ts',
    edits: [["    item.reason ??= 'retry'\n", "    item.reason ??= 'resync'\n"]],
  },
  {
    name: 'an enqueue is not a reason',
    breaks: 'reason is enqueued for a run after enqueue',
    file: 'subscriptions/controller.ts',
    edits: [['    addReason(this.#pending.of(key), reason)\n', '']],
  },
  {
    name: 'a delayed enqueue is not a reason',
    breaks: 'reason is enqueued for a run after an enqueue with a delay',
    file: 'subscriptions/controller.ts',
    edits: [["(key) => addReason(this.#pending.of(key), 'enqueued')", '() => {}']],
  },
  {
    name: 'of several reasons the weakest counts',
    breaks: 'of several reasons the strongest counts',
    file: 'subscriptions/pending-keys.ts',
    edits: [['ORDER.indexOf(reason) < ORDER', 'ORDER.indexOf(reason) > ORDER']],
  },
  {
    name: 'a controller has no reason for the absence of an object',
    breaks: 'gone is set exactly if there is no object',
    file: 'subscriptions/controller.ts',
    edits: [['const gone = object === undefined ?', 'const gone = deletion !== undefined ?']],
  },
  {
    name: 'a key that is given up is retried',
    breaks: 'after a TerminalError a key is not retried',
    file: 'subscriptions/controller.ts',
    edits: [['const isFinal = cause instanceof TerminalError ||', 'const isFinal =']],
  },
  {
    name: 'a change during a run that gives up is lost',
    breaks: 'after a TerminalError a key runs again if it changed during the run (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['const retryAt = wasAdded || !isFinal ?', 'const retryAt = !isFinal ?']],
  },
  {
    name: 'the version does not pass a key that is given up',
    breaks: 'the version passes changes that are given up',
    file: 'subscriptions/controller.ts',
    edits: [['if (isFinal) this.#pending.settle(key, item)', 'if (isFinal) item.reason = undefined']],
  },
  {
    name: 'a pause has no effect',
    breaks: 'a paused controller starts no run',
    file: 'subscriptions/run-gate.ts',
    edits: [['if (this.isPaused || !this', 'if (!this']],
  },
  {
    name: 'a controller stays idle after a pause',
    breaks: 'after resume the keys that wait are run (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['    this.#gate.isPaused = false\n    this.#continue()\n', '    this.#gate.isPaused = false\n']],
  },
  {
    name: 'the previous owner of a watched object is not run',
    breaks: 'a change of a watched informer runs the keys of the previous state, too',
    file: 'subscriptions/watched-informer.ts',
    edits: [['      if (previous !== object) enqueueFor(previous, key)\n', '']],
  },
  {
    name: 'a controller runs before other informers are synced',
    breaks: 'no key runs before the informers of after and watches are synced',
    file: 'subscriptions/run-gate.ts',
    edits: [['if (this.isPaused || !this.#prerequisites.areMet)', 'if (this.isPaused)']],
  },
  {
    name: 'a controller does not wait for an informer that has failed',
    breaks: 'a controller runs when the other informer is synced after a failure',
    file: 'subscriptions/prerequisites.ts',
    edits: [
      ["if (error instanceof SourceError && error.code === 'STOPPED') return false", 'return error === undefined'],
    ],
  },
  {
    name: 'runs are not limited in number',
    breaks: 'at most burst runs start at once',
    file: 'subscriptions/run-gate.ts',
    edits: [['this.#limiter?.take() ?? true', 'true']],
    onlyBy: { test: 'unit/subscriptions/controller-flow.test.ts', named: 'spaces the starts of runs' },
  },
  {
    name: 'resyncs run in their order',
    breaks: 'keys that run only for a resync run last',
    file: 'subscriptions/controller.ts',
    edits: [['this.#queue.add(change.key, true)', 'this.#queue.add(change.key)']],
    onlyBy: { test: 'unit/subscriptions/controller-flow.test.ts', named: 'resyncs run last' },
  },
  {
    name: 'the attempts of a key are not limited',
    breaks: 'after maxAttempts failures in a row a key is not retried',
    file: 'subscriptions/controller.ts',
    edits: [['cause instanceof TerminalError || attempt >= this.#retry.maxAttempts', 'cause instanceof TerminalError']],
    onlyBy: { test: 'unit/subscriptions/controller-retries.test.ts', named: 'maxAttempts is the number of runs' },
  },
  {
    name: 'a group drains all members at once',
    breaks: 'a group drains an informer after those that wait for it',
    file: 'informer/informer-group.ts',
    edits: [['else await this.#drain(stages, drainMs)', 'else await stopAll(stages.flat(), options)']],
    onlyBy: { test: 'unit/subscriptions/controller-dependencies.test.ts', named: 'and drains it last' },
  },
]
