import type { Mutant } from './mutate.js'

/** What a controller runs, and when. */
export const mutantsOfControllers: readonly Mutant[] = [
  {
    name: 'a controller runs a key twice at once',
    breaks: 'never one key twice at once',
    file: 'work-queue.ts',
    edits: [['    if (this.#running.has(key)) {\n      this.#running.set(key, true)\n      return\n    }\n', '']],
  },
  {
    name: 'a reconcile that fails is not tried again',
    breaks: 'retried with backoff until it succeeds (I5)',
    file: 'controller.ts',
    edits: [['    this.#queue.addBy(key, item.failedAt + delayMs)\n', '']],
  },
  {
    name: 'a controller tries again and again at the same distance',
    breaks: 'further and further apart',
    file: 'controller.ts',
    edits: [['    item.retry = grown(item.retry)\n', '']],
  },
  {
    name: 'a controller waits for longest after the first failure',
    breaks: 'the first distance is the shortest',
    file: 'controller.ts',
    edits: [['drawDelay(item.retry, this.#random)', 'RETRY_MS[1]']],
  },
  {
    name: 'a controller runs what failed at once when news come',
    breaks: 'news may be the cure, and yet not at once',
    file: 'controller.ts',
    edits: [['this.#queue.addBy(change.key, item.failedAt + RETRY_MS[0])', 'this.#queue.add(change.key)']],
  },
  {
    name: 'a controller does not count attempts',
    breaks: 'attempt is one more after each failure',
    file: 'controller.ts',
    edits: [['const attempt = item.attempt++', 'const attempt = item.attempt']],
  },
  {
    name: 'a run is not told to end',
    breaks: 'after stop() every run has been told to end (I15)',
    file: 'controller.ts',
    edits: [['signal: this.#stop.signal', 'signal: new AbortController().signal']],
  },
]
