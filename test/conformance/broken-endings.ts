import { type Broken, batches, pages } from './broken.js'

/** The turn in which a source is deaf: one that is missed where only some are tried. */
const DEAF = 24

const never = new AbortController().signal

export const brokenEndings: readonly Broken[] = [
  {
    name: 'reads its list to the end, wanted or not',
    refusedBy: ['the signal ends a list within 100 ms, wherever it is'],
    because: /a list, aborted after .* had not ended/,
    flaw: (memory) => ({
      async *list(context) {
        yield* memory.list({ ...context, signal: never })
        await context.clock.sleep(150)
      },
    }),
  },
  {
    name: 'waits for the server before it looks at the signal of a list',
    refusedBy: ['the signal ends a list within 100 ms between two pages'],
    because: /a list had not ended/,
    flaw: (memory) => ({
      async *list(context) {
        for await (const page of memory.list({ ...context, signal: never })) {
          yield page
          await context.clock.sleep(150)
        }
      },
    }),
  },
  {
    name: 'connects for a watch, wanted or not',
    refusedBy: ['the signal ends a watch within 100 ms, wherever it is'],
    because: /a watch, aborted after .* had not ended/,
    flaw: (memory) => ({
      async *watch(context) {
        await context.clock.sleep(150)
        yield* memory.watch(context)
      },
    }),
  },
  {
    name: 'ignores the signal while nothing happens',
    refusedBy: ['the signal ends a watch within 100 ms that waits for something to happen'],
    because: /a watch had not ended/,
    flaw: (memory) => ({ watch: (context) => memory.watch({ ...context, signal: never }) }),
  },
  {
    name: 'looks at the signal, and begins to listen to it later',
    refusedBy: ['the signal ends a watch within 100 ms, wherever it is'],
    because: /a watch, aborted after [1-9]\d* microtasks, had not ended/,
    flaw: (memory) => ({
      async *watch(context) {
        await Promise.resolve()
        if (context.signal.aborted) return
        await Promise.resolve()
        const stop = new AbortController()
        context.signal.addEventListener('abort', () => stop.abort(), { once: true })
        yield* memory.watch({ ...context, signal: stop.signal })
      },
    }),
  },
  {
    name: 'is deaf during one turn of many',
    refusedBy: ['the signal ends a list within 100 ms, wherever it is'],
    because: /a list, aborted after \d+ of \d+ turns of the event loop, had not ended/,
    flaw: (memory) => ({
      async *list(context) {
        for (let turn = 0; turn < 50; turn++) {
          if (context.signal.aborted) return
          await context.clock.sleep(0)
          if (context.signal.aborted && turn === DEAF) await context.clock.sleep(150)
        }
        yield* memory.list(context)
      },
    }),
  },
  {
    name: 'reads versions() to the end, wanted or not',
    refusedBy: [
      'the signal ends versions() within 100 ms, wherever it is',
      'the signal ends versions() within 100 ms between two pages',
    ],
    because: /versions\(\).* had not ended/,
    flaw: (_memory, { source }) => ({
      async *versions(context) {
        yield* source.versions({ ...context, signal: never })
        await context.clock.sleep(150)
      },
    }),
  },
  {
    name: 'waits for head() however long it takes',
    refusedBy: ['the signal ends head() within 100 ms, wherever it is'],
    because: /head.., aborted after .* had not ended/,
    flaw: (memory) => ({
      async head() {
        await new Promise((resolve) => setTimeout(resolve, 150))
        return await memory.head()
      },
    }),
  },
  {
    name: 'looks at the signal only while it waits',
    refusedBy: ['the signal that has aborted lets nothing begin'],
    because: /a list gave something though its signal had aborted/,
    flaw: (memory) => ({ list: (context) => memory.list({ ...context, signal: never }) }),
  },
  {
    name: 'begins versions() whatever the signal says',
    refusedBy: ['the signal that has aborted lets nothing begin'],
    because: /versions\(\) gave something though its signal had aborted/,
    flaw: (_memory, { source }) => ({ versions: (context) => source.versions({ ...context, signal: never }) }),
  },
  {
    name: 'leaves a listener after versions()',
    refusedBy: ['nothing is left of versions() that was read to its end, or left half-way: no listener, no timer'],
    because: /1 listeners are left/,
    flaw: (_memory, { source }) => ({
      versions: (context) => {
        context.signal.addEventListener('abort', () => {}, { once: true })
        return source.versions(context)
      },
    }),
  },
  {
    name: 'cleans up at the end of versions() only',
    refusedBy: ['nothing is left of versions() that was read to its end, or left half-way: no listener, no timer'],
    because: /1 listeners are left/,
    flaw: (_memory, { source }) => ({
      async *versions(context) {
        const stop = (): void => {}
        context.signal.addEventListener('abort', stop, { once: true })
        yield* source.versions(context)
        context.signal.removeEventListener('abort', stop)
      },
    }),
  },
  {
    name: 'cleans up after a watch that was aborted only',
    refusedBy: [
      'nothing is left of a watch that was left: no listener, no timer',
      'nothing is left of a watch that broke off: no listener, no timer',
    ],
    because: /1 listeners are left/,
    flaw: (memory) => ({
      watch: (context) => {
        context.signal.addEventListener('abort', () => {}, { once: true })
        return memory.watch(context)
      },
    }),
  },
  {
    name: 'leaves the timer of a watch that breaks off',
    refusedBy: ['nothing is left of a watch that broke off: no listener, no timer'],
    because: /until no timer is left/,
    flaw: (memory) => ({
      async *watch(context) {
        void context.clock.sleep(2_000, context.signal).catch(() => {})
        yield* memory.watch(context)
      },
    }),
  },
  {
    name: 'listens to the signal once more for each batch',
    refusedBy: ['nothing is left of the batches of a watch that goes on: no listener, no timer'],
    because: /30 more listeners/,
    flaw: (memory) => ({
      watch: batches(memory, (batch, _number, { signal }) => {
        signal.addEventListener('abort', () => {}, { once: true })
        return [batch]
      }),
    }),
  },
  {
    name: 'sets a timer for each batch, which it forgets',
    refusedBy: ['nothing is left of the batches of a watch that goes on: no listener, no timer'],
    because: /30 more timers/,
    flaw: (memory) => ({
      watch: batches(memory, (batch, _number, { clock }) => {
        void clock.sleep(5_000)
        return [batch]
      }),
    }),
  },
  {
    name: 'leaves a listener after each list',
    refusedBy: ['nothing is left of a list that was read to its end: no listener, no timer'],
    because: /1 listeners are left/,
    flaw: (memory) => ({
      list: (context) => {
        context.signal.addEventListener('abort', () => {}, { once: true })
        return memory.list(context)
      },
    }),
  },
  {
    name: 'cleans up at the end of a list only',
    refusedBy: ['nothing is left of a list that was left half-way: no listener, no timer'],
    because: /1 listeners are left/,
    flaw: (memory) => ({
      async *list(context) {
        const stop = (): void => {}
        context.signal.addEventListener('abort', stop, { once: true })
        yield* memory.list(context)
        context.signal.removeEventListener('abort', stop)
      },
    }),
  },
  {
    name: 'leaves the timer of a watch',
    refusedBy: ['nothing is left of a watch that was aborted: no timer'],
    because: /until no timer is left/,
    flaw: (memory) => ({
      async *watch(context) {
        void context.clock.sleep(2_000)
        yield* memory.watch(context)
      },
    }),
  },
  {
    name: 'leaves the timer of a deadline after a list',
    refusedBy: ['nothing is left of a list that was read to its end: no listener, no timer'],
    because: /until no timer is left/,
    flaw: (memory) => ({
      list: pages(memory, (page, { clock }) => {
        void clock.sleep(2_000)
        return [page]
      }),
    }),
  },
  {
    name: 'leaves a listener after each head()',
    refusedBy: ['nothing is left of head(): no listener, no timer'],
    because: /3 listeners are left/,
    flaw: (memory) => ({
      async head(context) {
        context.signal.addEventListener('abort', () => {}, { once: true })
        return await memory.head()
      },
    }),
  },
  {
    name: 'keeps the connection of a watch that is over',
    refusedBy: ['nothing is left open of calls that have ended, however they ended'],
    because: /5 are open/,
    flaw: (memory) => {
      let open = 0
      return {
        async *watch(context) {
          open++
          yield* memory.watch(context)
          open--
        },
        subject: { connections: () => open },
      }
    },
  },
]
