import type { SourceContext } from '../../src/contract/source.js'
import { type Broken, lists, type Read, versions, watches } from './broken.js'

/** The turns in which a source ignores the signal. A check of few turns misses them. One may pass between two looks. */
const DEAF_TURNS = [24, 25]
const never = new AbortController().signal
const listens = ({ signal }: SourceContext): void => signal.addEventListener('abort', () => {}, { once: true })
const waitsAside = ({ clock, signal }: SourceContext): void => void clock.sleep(2_000, signal).catch(() => {})

export const brokenEndings: readonly Broken[] = [
  {
    name: 'ignores the signal of a list',
    failedCases: ['an aborted list ends within 100 ms at every await'],
    because: /a list, aborted after .* had not ended/,
    async *list(memory, context) {
      yield* memory.list({ ...context, signal: never })
      await context.clock.sleep(150)
    },
  },
  {
    name: 'checks the signal of a list only after each response of the server',
    failedCases: ['a list that is aborted between two pages ends within 100 ms'],
    because: /a list had not ended/,
    async *list(memory, context) {
      for await (const page of memory.list({ ...context, signal: never })) {
        yield page
        await context.clock.sleep(150)
      }
    },
  },
  {
    name: 'ignores the signal while a watch connects',
    failedCases: ['an aborted watch ends within 100 ms at every await'],
    because: /a watch, aborted after .* had not ended/,
    watch: after(({ clock }) => clock.sleep(150), watches),
  },
  {
    name: 'ignores the signal of a watch',
    failedCases: ['an aborted watch that waits for a change ends within 100 ms'],
    because: /a watch had not ended/,
    watch: (memory, context) => memory.watch({ ...context, signal: never }),
  },
  {
    name: 'checks the signal of a watch before it adds its listener',
    failedCases: ['an aborted watch ends within 100 ms at every await'],
    because: /a watch, aborted after [1-9]\d* microtasks, had not ended/,
    async *watch(memory, context) {
      await Promise.resolve()
      if (context.signal.aborted) return
      await Promise.resolve()
      const stop = new AbortController()
      context.signal.addEventListener('abort', () => stop.abort(), { once: true })
      yield* memory.watch({ ...context, signal: stop.signal })
    },
  },
  {
    name: 'ignores the signal during two turns of the event loop',
    failedCases: ['an aborted list ends within 100 ms at every await'],
    because: /a list, aborted after \d+ of \d+ turns of the event loop, had not ended/,
    async *list(memory, context) {
      for (let turn = 0; turn < 50; turn++) {
        if (context.signal.aborted) return
        await context.clock.sleep(0)
        if (context.signal.aborted && DEAF_TURNS.includes(turn)) await context.clock.sleep(150)
      }
      yield* memory.list(context)
    },
  },
  {
    name: 'ignores the signal of versions()',
    failedCases: [
      'an aborted versions() ends within 100 ms at every await',
      'a versions() that is aborted between two pages ends within 100 ms',
    ],
    because: /versions\(\).* had not ended/,
    async *versions(memory, context) {
      yield* memory.versions({ ...context, signal: never })
      await context.clock.sleep(150)
    },
  },
  {
    name: 'ignores the signal of head()',
    failedCases: ['an aborted head() ends within 100 ms at every await'],
    because: /head.., aborted after .* had not ended/,
    async head(memory) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      return await memory.head()
    },
  },
  {
    name: 'starts a list although the signal has aborted',
    failedCases: ['a call with an aborted signal yields nothing'],
    because: /a list yielded something although its signal had aborted/,
    list: (memory, context) => memory.list({ ...context, signal: never }),
  },
  {
    name: 'starts versions() although the signal has aborted',
    failedCases: ['a call with an aborted signal yields nothing'],
    because: /versions\(\) yielded something although its signal had aborted/,
    versions: (memory, context) => memory.versions({ ...context, signal: never }),
  },
  {
    name: 'leaves a listener after versions()',
    failedCases: ['a complete and an abandoned versions() leave no listener and no timer'],
    because: /1 listeners are left/,
    versions: after(listens, versions),
  },
  {
    name: 'cleans up only at the end of versions()',
    failedCases: ['a complete and an abandoned versions() leave no listener and no timer'],
    because: /1 listeners are left/,
    versions: listeningToTheEnd(versions),
  },
  {
    name: 'cleans up only after an aborted watch',
    failedCases: [
      'an abandoned watch leaves no listener and no timer',
      'a failed watch leaves no listener and no timer',
    ],
    because: /1 listeners are left/,
    watch: after(listens, watches),
  },
  {
    name: 'leaves the timer of a failed watch',
    failedCases: ['a failed watch leaves no listener and no timer'],
    because: /until no timer is left/,
    watch: after(waitsAside, watches),
  },
  {
    name: 'adds a listener to the signal for each batch',
    failedCases: ['the batches of an open watch leave no listener and no timer'],
    because: /30 more listeners/,
    batches: (batch, _number, context) => {
      listens(context)
      return [batch]
    },
  },
  {
    name: 'starts a timer for each batch and never clears it',
    failedCases: ['the batches of an open watch leave no listener and no timer'],
    because: /30 more timers/,
    batches: (batch, _number, { clock }) => {
      void clock.sleep(5_000)
      return [batch]
    },
  },
  {
    name: 'leaves a listener after each list',
    failedCases: ['a complete list leaves no listener and no timer'],
    because: /1 listeners are left/,
    list: after(listens, lists),
  },
  {
    name: 'cleans up only at the end of a list',
    failedCases: ['an abandoned list leaves no listener and no timer'],
    because: /1 listeners are left/,
    list: listeningToTheEnd(lists),
  },
  {
    name: 'leaves the timer of a watch',
    failedCases: ['an aborted watch leaves no timer'],
    because: /until no timer is left/,
    watch: after(({ clock }) => void clock.sleep(2_000), watches),
  },
  {
    name: 'leaves the timer of a deadline after a list',
    failedCases: ['a complete list leaves no listener and no timer'],
    because: /until no timer is left/,
    pages: (page, { clock }) => {
      void clock.sleep(2_000)
      return [page]
    },
  },
  {
    name: 'leaves a listener after each head()',
    failedCases: ['head() leaves no listener and no timer'],
    because: /3 listeners are left/,
    async head(memory, context) {
      listens(context)
      return await memory.head()
    },
  },
  {
    name: 'leaves the connection of an ended watch open',
    failedCases: ['calls leave no connection open, in whatever way they end'],
    because: /5 connections are open/,
    flaw: () => {
      let open = 0
      return {
        async *watch(memory, context) {
          open++
          yield* memory.watch(context)
          open--
        },
        subject: { connections: () => open },
      }
    },
  },
]

function after<C, P>(first: (context: C) => unknown, read: Read<C, P>): Read<C, P> {
  return async function* (memory, context) {
    await first(context)
    yield* read(memory, context)
  }
}

/** It does not clean up if it is abandoned. */
function listeningToTheEnd<C extends SourceContext, P>(read: Read<C, P>): Read<C, P> {
  return async function* (memory, context) {
    const stop = (): void => {}
    context.signal.addEventListener('abort', stop, { once: true })
    yield* read(memory, context)
    context.signal.removeEventListener('abort', stop)
  }
}
