import type { Mutant } from './mutate.js'

/** Consumers that are closed in the middle of a batch, a replay or a large write: what they and others receive. */
export const mutantsOfClosing: readonly Mutant[] = [
  {
    name: 'a change that waits for the handler of its key is delivered after the close',
    breaks: 'no handler is called after the close (F10)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [['if (next !== undefined && this.#feed.closed === undefined) {', 'if (next !== undefined) {']],
  },
  {
    name: 'a controller that one of its runs closes runs the keys that are ready',
    breaks: 'no run begins after the close (F10)',
    file: 'queue/work-queue.ts',
    edits: [['    this.drain()\n    this.#ready.clear()\n', '    this.drain()\n']],
  },
  {
    name: 'the signals of the handlers that run do not abort at the close',
    breaks: 'the signal of a handler aborts when its subscription is closed (F10)',
    file: 'subscriptions/handler-subscription.ts',
    edits: [['    this.#caller.cancel(reason)\n', '    void reason\n']],
  },
  {
    name: 'a closed subscription keeps the changes that wait',
    breaks: 'a closed subscription has no backlog',
    file: 'subscriptions/feed.ts',
    edits: [['    this.#queue.clear()\n    this.reader.wake()\n', '    this.reader.wake()\n']],
  },
  {
    name: 'the version of a closed subscription advances with the store',
    breaks: "a closed subscription's version is never ahead of what it has handled (law 6, I7)",
    file: 'subscriptions/feed.ts',
    edits: [['if (!this.#isIdle || this.#closed !== undefined) return', 'if (!this.#isIdle) return']],
  },
  {
    name: 'the rest of a batch counts as handled when a handler closes its subscription',
    breaks: "a closed subscription's version is never ahead of what it has handled (law 6, I7)",
    file: 'subscriptions/serial-delivery.ts',
    edits: [
      [
        '    this.isBusy = false\n    this.#consumer.rested()\n',
        '    if (batch !== undefined) this.#feed.ack(batch)\n    this.isBusy = false\n    this.#consumer.rested()\n',
      ],
    ],
  },
  {
    name: 'the batch of a reader counts as handled when its stream is closed',
    breaks: "a closed stream's version is never ahead of what its reader has handled (law 6, I7)",
    file: 'subscriptions/batch-iterator.ts',
    edits: [['    this.#current = undefined\n    this.wake()\n', '    this.#ackCurrent()\n    this.wake()\n']],
  },
  {
    name: 'the close of a subscription to which a large commit is routed ends the routing',
    breaks: 'the close of a subscription changes nothing for the others (F10, I2)',
    file: 'subscriptions/change-router.ts',
    edits: [
      [
        '        if (matched !== undefined) yield* feed.enqueueInSteps(matched, position, source)\n',
        '        if (matched !== undefined) yield* feed.enqueueInSteps(matched, position, source)\n        if (feed.closed !== undefined) return\n',
      ],
    ],
  },
]
