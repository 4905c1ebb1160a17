import type { Mutant } from './mutate.js'

const subscriptionEnters = 'const leaveWaiters = this.#feed.enterFeed(mark, { resolve, reject: this.#settle.reject })\n'
const subscriptionRejects = `this.#settle.reject(new SourceError('no', { code: 'STOPPED' }))\n    ${subscriptionEnters}`

/** Waits, and their limits. */
export const mutantsOfWaits: readonly Mutant[] = [
  {
    name: 'a wait for a version fails as if all were stopped',
    breaks: 'a wait fails only if it cannot end',
    file: 'informer/informer-waits.ts',
    edits: [
      [
        "if (this.#isStopped) {\n      settle.reject(this.#sources.stoppedError('waitFor'))",
        "if (runner !== undefined) {\n      settle.reject(this.#sources.stoppedError('waitFor'))",
      ],
    ],
  },
  {
    name: 'fresh fails as if all were stopped',
    breaks: 'fresh fails only if the source cannot report its version',
    file: 'informer/informer-waits.ts',
    edits: [
      [
        "        if (this.#isStopped) {\n          settle.reject(this.#sources.stoppedError('fresh'))",
        "        if (wait !== undefined) {\n          settle.reject(this.#sources.stoppedError('fresh'))",
      ],
    ],
  },
  {
    name: 'fresh fails as if access to the source were refused',
    breaks: 'fresh fails only if the source cannot report its version',
    file: 'informer/informer-waits.ts',
    edits: [
      [
        '          () => settle.resolve(),\n          settle.reject,\n',
        "          () => settle.reject(new SourceError('no', { code: 'UNAUTHORIZED' })),\n          settle.reject,\n",
      ],
    ],
  },
  {
    name: 'a wait of a subscription fails as if it were closed',
    breaks: 'a wait fails only if it cannot end',
    file: 'subscriptions/feed-wait.ts',
    edits: [
      [
        "import type { SourceError } from '../contract/errors.js'",
        "import { SourceError } from '../contract/errors.js'",
      ],
      [subscriptionEnters, subscriptionRejects],
    ],
  },
  {
    name: 'over a set a wait for a version fails as if all were stopped',
    breaks: 'a wait fails only if it cannot end',
    file: 'informer/informer-waits.ts',
    kind: 'set',
    edits: [
      [
        "if (this.#isStopped) {\n      settle.reject(this.#sources.stoppedError('waitFor'))",
        "if (runner !== undefined) {\n      settle.reject(this.#sources.stoppedError('waitFor'))",
      ],
    ],
  },
  {
    name: 'over a set fresh fails as if all were stopped',
    breaks: 'fresh fails only if a source cannot report its version',
    file: 'informer/informer-waits.ts',
    kind: 'set',
    edits: [
      [
        "        if (this.#isStopped) {\n          settle.reject(this.#sources.stoppedError('fresh'))",
        "        if (wait !== undefined) {\n          settle.reject(this.#sources.stoppedError('fresh'))",
      ],
    ],
  },
  {
    name: 'over a set fresh does not wait',
    breaks: 'after fresh the store includes what each source had at the call',
    file: 'informer/informer-waits.ts',
    kind: 'set',
    edits: [
      [
        'if (version !== undefined && !signal.aborted) await this.forRunner(runner, version, { signal })',
        'void version',
      ],
    ],
  },
  {
    name: 'over a set a wait of a subscription fails as if it were closed',
    breaks: 'a wait fails only if it cannot end',
    file: 'subscriptions/feed-wait.ts',
    kind: 'set',
    edits: [
      [
        "import type { SourceError } from '../contract/errors.js'",
        "import { SourceError } from '../contract/errors.js'",
      ],
      [subscriptionEnters, subscriptionRejects],
    ],
  },
  {
    name: 'a wait for a mark of the epoch that begins fails with the epoch that ends',
    breaks: 'a wait for a mark of the epoch that begins waits for its list',
    file: 'subscriptions/version-waiters.ts',
    edits: [['        if (isEpochChange(error)) continue\n', '']],
  },
  {
    name: 'a wait for a mark of an epoch that the store does not show fails at once',
    breaks: 'a wait for a mark of the epoch that begins waits for its list',
    file: 'informer/source-runner.ts',
    edits: [['this.#epochs && ((...wait) => this.#epochs?.judge(...wait)),', '']],
  },
  {
    name: 'a read of the head that fails is never made again',
    breaks: 'a wait for a mark of another epoch fails once the head of the source shows its epoch',
    file: 'informer/epoch-check.ts',
    edits: [['        this.#attempt = undefined\n', '']],
  },
  {
    name: 'until looks only once',
    breaks: 'until ends with the first commit after which its condition holds',
    file: 'informer/informer-waits.ts',
    edits: [
      [
        '        if (!this.#synced.isOpen) return\n        const object = this.#host.get(key)',
        '        if (!this.#synced.isOpen || Object(settle).hasLooked) return\n        Object(settle).hasLooked = true\n        const object = this.#host.get(key)',
      ],
    ],
  },
  {
    name: 'over a set until looks only once',
    breaks: 'until ends with the first commit after which its condition holds',
    file: 'informer/informer-waits.ts',
    kind: 'set',
    edits: [
      [
        '        if (!this.#synced.isOpen) return\n        const object = this.#host.get(key)',
        '        if (!this.#synced.isOpen || Object(settle).hasLooked) return\n        Object(settle).hasLooked = true\n        const object = this.#host.get(key)',
      ],
    ],
  },
  {
    name: 'the time of a wait is over late',
    breaks: 'a wait ends when its time is over',
    file: 'util/deadline.ts',
    edits: [['clock.sleep(timeoutMs, timer.signal)', 'clock.sleep(2 * timeoutMs, timer.signal)']],
  },
  {
    name: 'the time of a wait is over soon',
    breaks: 'a wait ends when its time is over, and not before',
    file: 'util/deadline.ts',
    edits: [['clock.sleep(timeoutMs, timer.signal)', 'clock.sleep(timeoutMs / 2, timer.signal)']],
  },
  {
    name: 'a wait leaves a listener on the signal of its caller',
    breaks: 'a wait leaves nothing behind (I15)',
    file: 'util/deadline.ts',
    edits: [["      signal?.removeEventListener('abort', abort)\n", '']],
  },
  {
    name: 'a wait continues though its caller aborted',
    breaks: 'a wait rejects when its signal aborts',
    file: 'util/deadline.ts',
    edits: [["    signal?.addEventListener('abort', abort, { once: true })\n", '']],
  },
  {
    name: 'a wait begins though its signal has aborted already',
    breaks: 'a wait rejects if its signal has aborted already',
    file: 'util/deadline.ts',
    edits: [['    if (signal?.aborted) {\n      reject(signal.reason)\n      return\n    }\n', '']],
  },
  {
    name: 'a subscription leaves a listener on the signal of its caller',
    breaks: 'after stop() there is no listener (I15)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [
      ["    this.#signal?.removeEventListener('abort', this.#abort)\n    this.feed.host", '    this.feed.host'],
      ["    this.#signal?.removeEventListener('abort', this.#abort)\n    const reason", '    const reason'],
    ],
  },
  {
    name: 'a subscription stays open though its caller aborted',
    breaks: 'a subscription is closed when its signal aborts (I15)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [["    else this.#signal?.addEventListener('abort', this.#abort, { once: true })\n", '']],
  },
  {
    name: 'a subscription begins though its signal has aborted already',
    breaks: 'a subscription is closed if its signal has aborted already (I15)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [['if (this.#signal?.aborted) void this.close()\n    else ', '']],
  },
  {
    name: 'a stream of changes leaves a listener on the signal of its caller',
    breaks: 'after stop() there is no listener (I15)',
    file: 'subscriptions/batch-iterator.ts',
    edits: [
      [
        "super(feed, 'stream', signal)",
        "super(feed, 'stream', signal)\n    signal?.addEventListener('abort', () => {})",
      ],
    ],
  },
  {
    name: 'a stream of changes continues though its caller aborted',
    breaks: 'a stream of changes ends when its signal aborts (I15)',
    file: 'subscriptions/batch-iterator.ts',
    edits: [["super(feed, 'stream', signal)", "super(feed, 'stream', signal?.aborted ? signal : undefined)"]],
  },
  {
    name: 'a controller leaves a listener on the signal of its caller',
    breaks: 'after stop() there is no listener (I15)',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        "super(feed, 'controller', options.signal)",
        "super(feed, 'controller', options.signal)\n    options.signal?.addEventListener('abort', () => {})",
      ],
    ],
  },
  {
    name: 'a controller continues though its caller aborted',
    breaks: 'a controller is closed when its signal aborts (I15)',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        "super(feed, 'controller', options.signal)",
        "super(feed, 'controller', options.signal?.aborted ? options.signal : undefined)",
      ],
    ],
  },
  {
    name: 'a wait of an informer that was not started is not reported',
    breaks: 'a forgotten start() has a message',
    file: 'informer/informer-waits.ts',
    edits: [['if (this.#sources.isStarted || this.#isStartReminded) return', 'return']],
    onlyBy: { test: 'unit/informer/informer-waits.test.ts', named: 'is reported once after 10 s, with the remedy' },
  },
  {
    name: 'a wait that began before the start is reported as one without start',
    breaks: 'a wait of a started informer is not reported',
    file: 'informer/informer-waits.ts',
    edits: [['if (this.#sources.isStarted || this.#isStartReminded) return', 'if (this.#isStartReminded) return']],
    onlyBy: { test: 'unit/informer/informer-waits.test.ts', named: 'a wait for an informer that is started in time' },
  },
  {
    name: 'the reminder of a wait of an informer that was not started outlives the wait',
    breaks: 'no timer is left after stop() (I15)',
    file: 'informer/informer-waits.ts',
    edits: [['return () => waiting.abort(ABORTED)', 'return () => {}']],
  },
]
