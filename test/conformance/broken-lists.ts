import type { ListEvent, ListPage } from '../../src/contract/source.js'
import { allOf, type Broken, sequenceOf, shifted } from './broken.js'
import type { Item } from './memory-harness.js'

export const brokenLists: readonly Broken[] = [
  {
    name: 'yields no page for an empty collection',
    failedCases: ['a list of an empty collection has at least one page, no objects and a version'],
    because: /the version of a list's last page is missing/,
    pages: (page) => (page.events.length === 0 ? [] : [page]),
  },
  {
    name: 'lists deleted objects',
    failedCases: ['a list contains every object with its value'],
    because: /"k5" should not be there/,
    flaw: ({ write }) => {
      const kept = new Map<string, ListEvent<Item>>()
      return {
        pages: (page) => [{ ...page, events: [...page.events, ...kept.values()] }],
        subject: {
          write: (changes) => {
            for (const { key, value } of changes) {
              if (value === undefined) kept.set(key, { type: 'put', key, object: { value: 'a ghost' } })
            }
            return write(changes)
          },
        },
      }
    },
  },
  {
    name: 'loses an object if the objects fill the last page',
    failedCases: ['a list is complete at every page size, even if the objects fill the last page'],
    because: /in pages of 1: "k5" is missing/,
    pages: (page, { pageSize }) => {
      const isFull = page.version !== undefined && page.events.length === pageSize
      return [isFull ? { ...page, events: page.events.slice(1) } : page]
    },
  },
  {
    name: 'ends its list after 1 000 objects',
    failedCases: ['a list of 2 500 objects is complete'],
    because: /"k1000" is missing/,
    async *list(memory, context) {
      const [first] = await allOf(memory.list({ ...context, pageSize: 1_000 }))
      yield { events: first?.events ?? [], version: await memory.head() }
    },
  },
  {
    name: 'has its version only on the first page',
    failedCases: ['the last page of a list has its version'],
    because: /last page is missing/,
    async *list(memory, context) {
      const all = await allOf(memory.list(context))
      for (const [at, { events }] of all.entries())
        yield at === 0 ? { events, version: await memory.head() } : { events }
    },
  },
  {
    name: 'reads each page of a list in a snapshot of its own',
    failedCases: [
      'a list is one snapshot, even if objects are added, changed and deleted between its pages',
      'a list is one snapshot, even if a writer never pauses',
    ],
    because: /the list, at .*, shows a state that never existed/,
    async *list(memory, context) {
      for (let at = 0; ; at += context.pageSize) {
        const now = (await allOf(memory.list({ ...context, pageSize: 100_000 }))).flatMap((page) => page.events)
        const slice = now.slice(at, at + context.pageSize)
        if (at + context.pageSize >= now.length) return yield { events: slice, version: await memory.head() }
        yield { events: slice }
        await context.clock.sleep(1)
      }
    },
  },
  {
    name: 'lists from a replica that lags behind',
    failedCases: ['a list shows everything that was committed before it began'],
    because: /"round 0" instead of "round 1"/,
    flaw: () => {
      let last: readonly ListPage<Item>[] | undefined
      return {
        async *list(memory, context) {
          const now = await allOf(memory.list(context))
          yield* last ?? now
          last = now
        },
      }
    },
  },
  {
    name: 'has one cursor for all lists',
    failedCases: ['a list is independent of another list at the same time'],
    because: /last page is missing/,
    flaw: () => {
      let left: ListPage<Item>[] = []
      return {
        async *list(memory, context) {
          left = await allOf(memory.list(context))
          for (let page = left.shift(); page !== undefined; page = left.shift()) yield page
        },
      }
    },
  },
  {
    name: 'cuts off values at 512 kB',
    failedCases: ['an object of 1 MiB is complete in a list and in a watch'],
    because:
      /"listed" is "big ü .*…" and then "" instead of ".*…" \(512000 characters instead of 900000, different from character 512001 on\)/,
    events: (event) =>
      event.type === 'put' ? { ...event, object: { value: event.object.value.slice(0, 512_000) } } : event,
  },
  {
    name: 'reuses an object after it was yielded',
    failedCases: ['an object does not change after the source yielded it'],
    because: /changed after it had been handed over/,
    flaw: () => {
      const objects = new Map<string, { value: string }>()
      return {
        events: (event) => {
          if (event.type !== 'put') return event
          const object = objects.get(event.key) ?? { value: '' }
          object.value = event.object.value
          objects.set(event.key, object)
          return { ...event, object }
        },
      }
    },
  },
  {
    name: 'has the same version for every state of an object',
    failedCases: ['two states of an object with the same version are equal'],
    because: /for two values/,
    events: (event) => (event.type === 'put' ? { ...event, version: '1' } : event),
  },
  {
    name: 'uses the key as the uid',
    failedCases: ['an object has the same uid in lists and watches, and another uid after it was recreated'],
    because: /has the uid of the object before/,
    events: (event) => (event.type === 'put' ? { ...event, uid: event.key } : event),
  },
  {
    name: 'consumes its list by reading it',
    failedCases: ['two lists without a write in between are equal'],
    because: /two lists of the same contents differ/,
    flaw: () => {
      const read = new Set<string>()
      return {
        pages: (page) => {
          const left = page.events.filter(({ type, key = '' }) => type !== 'put' || !read.has(key))
          for (const { key = '' } of page.events) read.add(key)
          return [{ ...page, events: left }]
        },
      }
    },
  },
  {
    name: 'has a versions() that includes deleted objects',
    failedCases: ['an object has the same version in lists and in versions()'],
    because: /disagree on "k4"/,
    async *versions(memory, context) {
      for await (const { events, ...page } of memory.list(context)) {
        const keys = events.map(({ key = '', version = '' }) => ({ key, version }))
        yield { ...page, keys: [...keys, { key: 'k4', version: '1' }] }
      }
    },
  },
  {
    name: 'has a list version that is later than its objects',
    failedCases: ['a watch resumes at the version of the list: writes during the list are not lost'],
    because: /"during1" is missing/,
    async *list(memory, context) {
      for await (const page of memory.list(context))
        yield page.version === undefined ? page : { ...page, version: await memory.head() }
    },
  },
  {
    name: 'reads its version by a request after that of the objects',
    failedCases: ['a list that is read while a writer writes names a version without later writes'],
    because: /waiting for the written values: "n\d+" is missing/,
    async *list(memory, context) {
      const events = (await allOf(memory.list(context))).flatMap((page) => page.events)
      await context.clock.sleep(0, context.signal)
      yield { events, version: await memory.head() }
    },
  },
  {
    name: 'has versions that are not ASCII',
    failedCases: ['a version of a list, batch or bookmark is printable ASCII of at most 64 KiB'],
    because: /not printable ASCII/,
    pages: ({ version, ...page }) => [version === undefined ? page : { ...page, version: `→${version}` }],
    watch: (memory, context) => memory.watch({ ...context, after: context.after.replace('→', '') }),
  },
  {
    name: 'has another name at each read',
    failedCases: ['the source has a name that never changes'],
    because: /its name was memory/,
    flaw: () => {
      let reads = 0
      return { nameOf: () => `memory ${reads++}` }
    },
  },
  {
    name: 'says that a version includes only itself',
    failedCases: ['a version includes itself and earlier versions, but no later one'],
    because: /returned false for list 1 and the version of list 0/,
    hasReached: (at, mark) => at === mark,
  },
  {
    name: 'compares versions as text',
    failedCases: ['the versions of a watch never decrease'],
    because: /went back from .*9 to .*10/,
    hasReached: (at, mark) => at >= mark,
  },
  {
    name: 'reads its head from a replica that lags behind',
    failedCases: ['the version of head() is reached exactly when everything committed before it is shown'],
    because: /from before a write includes the head after it/,
    head: async (memory) => shifted(await memory.head(), -1),
  },
  {
    name: 'returns the version before a write as its mark',
    failedCases: ['the mark of a write is reached exactly when the write is shown'],
    because: /from before a write includes its mark/,
    flaw: ({ write }) => ({ subject: { write: async (changes) => shifted((await write(changes)) ?? '', -1) } }),
  },
  {
    name: 'accepts any text as a version',
    failedCases: ['a text that is not a version of the source is PROTOCOL'],
    because: /nonsense did not fail/,
    hasReached: (at, mark) => !(sequenceOf(at) < sequenceOf(mark)),
  },
]
