import type { Mutant } from './mutate.js'

/** Handlers and runs that take too long, and their reports. */
export const mutantsOfStuck: readonly Mutant[] = [
  {
    name: 'the signal of a run does not abort when its time is over',
    breaks: 'with timeoutMs the signal of a handler or a run aborts when its time is over (I14)',
    file: 'subscriptions/timed-run.ts',
    edits: [['        this.#controller.abort(error)\n', '']],
  },
  {
    name: 'only the subscription that began first can be stuck',
    breaks: 'with stuckAfterMs an informer is not ready while any handler or run takes longer',
    file: 'informer/informer-status.ts',
    edits: [['if (running === undefined || ranMs <= ms) continue', 'if (running === undefined || ranMs <= ms) break']],
  },
  {
    name: 'the oldest key is that of the handler that began last',
    breaks: 'backlog.oldestKey is the key whose handler or run has been running for longest',
    file: 'subscriptions/slow-handler-monitor.ts',
    edits: [['const [first] = this.#running', 'const first = [...this.#running].at(-1)']],
  },
  {
    name: 'the handlers of a subscription that overflows run on',
    breaks: 'the signals of running handlers abort when their subscription ends by an overflow (B12a)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [['    void Promise.resolve().then(() => this.abort(reason))\n', '']],
    onlyBy: {
      test: 'unit/subscriptions/stuck-handlers.test.ts',
      named: 'has a signal that aborts when the subscription ends',
    },
  },
  {
    name: 'the listeners of a signal run inside a commit',
    breaks: 'no function of the user is called before every subscription has the changes of a commit (B12a)',
    file: 'subscriptions/feed-consumer.ts',
    edits: [['void Promise.resolve().then(() => this.abort(reason))', 'this.abort(reason)']],
    onlyBy: {
      test: 'unit/subscriptions/stuck-handlers.test.ts',
      named: 'has a signal that aborts when the subscription ends',
    },
  },
]
