import type { Mutant } from './mutate.js'

/** What a controller runs, and when. */
export const mutantsOfControllers: readonly Mutant[] = [
  {
    name: 'a controller runs a key twice at once',
    breaks: 'never one key twice at once',
    file: 'queue/work-queue.ts',
    edits: [['    if (this.#running.has(key)) {\n      this.#running.set(key, true)\n      return\n    }\n', '']],
  },
  {
    name: 'a reconcile that fails is not tried again',
    breaks: 'retried with backoff until it succeeds (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['    this.#queue.addBy(key, item.failedAt + delayMs)\n', '']],
  },
  {
    name: 'a controller tries again and again at the same distance',
    breaks: 'further and further apart',
    file: 'subscriptions/controller.ts',
    edits: [['    item.retry = grown(item.retry)\n', '']],
  },
  {
    name: 'a controller waits for longest after the first failure',
    breaks: 'the first distance is the shortest',
    file: 'subscriptions/controller.ts',
    edits: [['drawDelay(item.retry, this.#random)', 'RETRY_MS[1]']],
  },
  {
    name: 'a controller runs what failed at once when news come',
    breaks: 'news may be the cure, and yet not at once',
    file: 'subscriptions/controller.ts',
    edits: [['this.#queue.addBy(change.key, item.failedAt + RETRY_MS[0])', 'this.#queue.add(change.key)']],
  },
  {
    name: 'a controller does not count attempts',
    breaks: 'attempt is one more after each failure',
    file: 'subscriptions/controller.ts',
    edits: [['const attempt = item.attempt++', 'const attempt = item.attempt']],
  },
  {
    name: 'a run is not told to end',
    breaks: 'after stop() every run has been told to end (I15)',
    file: 'subscriptions/controller.ts',
    edits: [['const { signal } = timed ?? this.#stop', 'const { signal } = timed ?? new AbortController()']],
  },
  {
    name: 'requeueAfter is ignored',
    breaks: 'a key is run again when its run asked for that',
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
    breaks: 'a key is run again where its run succeeded, and else by its own delays',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        '      this.#failed(key, item, error)\n',
        '      this.#failed(key, item, error)\n      if (requeueMs !== undefined) this.#queue.addBy(key, clock.now() + requeueMs)\n',
      ],
    ],
  },
  {
    name: 'requeueAfter comes twice as late',
    breaks: 'a key is run again when its run asked for that',
    file: 'subscriptions/controller.ts',
    edits: [['clock.now() + requeueMs)', 'clock.now() + 2 * requeueMs)']],
  },
  {
    name: 'requeueAfter comes at half its time',
    breaks: 'a key is run again when its run asked for that, and not before',
    file: 'subscriptions/controller.ts',
    edits: [['clock.now() + requeueMs)', 'clock.now() + requeueMs / 2)']],
  },
  {
    name: 'a delayed enqueue is lost',
    breaks: 'a key is run when it was asked to',
    file: 'subscriptions/controller.ts',
    edits: [['else this.#queue.addAt(key, this.feed.host.clock.now() + options.delayMs)', '']],
  },
  {
    name: 'a delayed enqueue is lost when the key is run before',
    breaks: 'a key is run when it was asked to, whatever happened meanwhile',
    file: 'subscriptions/controller.ts',
    edits: [['else this.#queue.addAt(', 'else this.#queue.addBy(']],
  },
  {
    name: 'a delayed enqueue is not delayed',
    breaks: 'a key is run when it was asked to, and not before',
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
    breaks: 'a key is run when it was asked to, whatever happened meanwhile',
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
    breaks: 'news may be the cure: then not so late',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        'const wasAdded = this.#queue.done(key, false)',
        'const wasAdded = item.duringRun !== undefined\n    this.#queue.done(key, false)',
      ],
    ],
  },
  {
    name: 'deleted is not given',
    breaks: 'the last state of what is gone is told',
    file: 'subscriptions/controller.ts',
    edits: [['const deleted = gone?.object', 'const deleted = undefined as T | undefined']],
  },
  {
    name: 'deleted is given once',
    breaks: 'the last state of what is gone is told until a run for that has succeeded',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        '    let requeueMs: number | undefined\n',
        '    let requeueMs: number | undefined\n    this.#deleted.delete(key)\n',
      ],
    ],
  },
  {
    name: 'deleted is given for ever',
    breaks: 'the last state of what is gone is told until a run for that has succeeded',
    file: 'subscriptions/controller.ts',
    edits: [['    if (gone !== undefined && this.#deleted.get(key) === gone) this.#deleted.delete(key)\n', '']],
  },
  {
    name: 'deleted is the first state that was deleted',
    breaks: 'the last state of what is gone is told',
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
    breaks: 'nothing is run for what is asked for after the end, and no time is waited for (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['    this.#queue.drain()\n', '']],
  },
  {
    name: 'a draining controller runs what comes later',
    breaks: 'close({ drain }) ends however much comes later (I5)',
    file: 'subscriptions/controller.ts',
    edits: [
      ['    this.#queue.drain()\n    this.feed.stopAccepting(this.#skipped)\n', '    this.#queue.drain()\n'],
      ['    if (this.#queue.isDraining) this.feed.stopAccepting(this.#skipped)\n', ''],
    ],
  },
  {
    name: 'a draining controller drops what waits',
    breaks: 'close({ drain }) handles what waits at that moment (I5)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [
      [
        'while (this.feed.closed === undefined && this.isBusy)',
        "while (this.feed.closed === undefined && this.isBusy && this.#what !== 'controller')",
      ],
    ],
  },
  {
    name: 'a draining controller waits for its runs, whatever closes it',
    breaks: 'what closes it meanwhile ends its draining as well (I15)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [
      [
        'while (this.feed.closed === undefined && this.isBusy)',
        "while ((this.feed.closed === undefined || this.#what === 'controller') && this.isBusy)",
      ],
    ],
  },
  {
    name: 'a draining controller is not told what was deleted',
    breaks: 'runs have the state of now, though the controller is being drained',
    maxSchedules: 4_000,
    file: 'subscriptions/controller.ts',
    edits: [
      [
        '    this.#queue.drain()\n    this.feed.stopAccepting(this.#skipped)\n',
        '    this.#queue.drain()\n    this.feed.stopAccepting()\n',
      ],
    ],
  },
]
