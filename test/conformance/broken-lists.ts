import type { ListEvent, ListPage } from '../../src/contract/source.js'
import { allOf, type Broken, events, pages, sequenceOf, shifted } from './broken.js'
import type { Item } from './memory-harness.js'

export const brokenLists: readonly Broken[] = [
  {
    name: 'gives no page of an empty collection',
    refusedBy: ['a list of an empty collection has at least one page, no objects and a version'],
    because: /the version of a list's last page is missing/,
    flaw: (memory) => ({ list: pages(memory, (page) => (page.events.length === 0 ? [] : [page])) }),
  },
  {
    name: 'keeps what was deleted in its list',
    refusedBy: ['a list holds every object with its value'],
    because: /"k5" should not be there/,
    flaw: (memory, { write }) => {
      const kept = new Map<string, ListEvent<Item>>()
      return {
        list: pages(memory, (page) => [{ ...page, events: [...page.events, ...kept.values()] }]),
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
    name: 'takes a full page for one of many, and a short one for the last',
    refusedBy: ['a list is whole at every page size, also where the objects fill the last page'],
    because: /in pages of 1: "k5" is missing/,
    flaw: (memory) => ({
      list: pages(memory, (page, { pageSize }) => {
        const isFull = page.version !== undefined && page.events.length === pageSize
        return [isFull ? { ...page, events: page.events.slice(1) } : page]
      }),
    }),
  },
  {
    name: 'ends its list after 1 000 objects',
    refusedBy: ['a list of 2 500 objects is whole'],
    because: /"k1000" is missing/,
    flaw: (memory) => ({
      async *list(context) {
        const [first] = await allOf(memory.list({ ...context, pageSize: 1_000 }))
        yield { events: first?.events ?? [], version: await memory.head() }
      },
    }),
  },
  {
    name: 'names the version on the first page only',
    refusedBy: ['a list names its version on its last page'],
    because: /last page is missing/,
    flaw: (memory) => ({
      async *list(context) {
        const all = await allOf(memory.list(context))
        for (const [at, { events }] of all.entries())
          yield at === 0 ? { events, version: await memory.head() } : { events }
      },
    }),
  },
  {
    name: 'reads each page of a list when it is its turn',
    refusedBy: [
      'a list is one snapshot, also where objects are written, added and deleted between its pages',
      'a list is one snapshot, also where somebody writes all the time',
    ],
    because: /the list, at .*, shows a state that there was not/,
    flaw: (memory) => ({
      async *list(context) {
        for (let at = 0; ; at += context.pageSize) {
          const now = (await allOf(memory.list({ ...context, pageSize: 100_000 }))).flatMap((page) => page.events)
          const slice = now.slice(at, at + context.pageSize)
          if (at + context.pageSize >= now.length) return yield { events: slice, version: await memory.head() }
          yield { events: slice }
          await context.clock.sleep(1)
        }
      },
    }),
  },
  {
    name: 'lists from a replica that is behind',
    refusedBy: ['a list shows what was committed before it began'],
    because: /"round 0" instead of "round 1"/,
    flaw: (memory) => {
      let last: readonly ListPage<Item>[] | undefined
      return {
        async *list(context) {
          const now = await allOf(memory.list(context))
          yield* last ?? now
          last = now
        },
      }
    },
  },
  {
    name: 'has one cursor for all lists',
    refusedBy: ['a list is independent of another that is read at the same time'],
    because: /last page is missing/,
    flaw: (memory) => {
      let left: ListPage<Item>[] = []
      return {
        async *list(context) {
          left = await allOf(memory.list(context))
          for (let page = left.shift(); page !== undefined; page = left.shift()) yield page
        },
      }
    },
  },
  {
    name: 'cuts off values at 512 kB',
    refusedBy: ['an object of 1 MiB comes whole in a list and in a watch'],
    because: /the list: "listed" is/,
    flaw: (memory) =>
      events(memory, (event) =>
        event.type === 'put' ? { ...event, object: { value: event.object.value.slice(0, 512_000) } } : event,
      ),
  },
  {
    name: 'uses an object again that it has handed over',
    refusedBy: ['an object that was handed over stays as it is'],
    because: /changed after it had been handed over/,
    flaw: (memory) => {
      const objects = new Map<string, { value: string }>()
      return events(memory, (event) => {
        if (event.type !== 'put') return event
        const object = objects.get(event.key) ?? { value: '' }
        object.value = event.object.value
        objects.set(event.key, object)
        return { ...event, object }
      })
    },
  },
  {
    name: 'gives every state of an object the same version',
    refusedBy: ['an object that has the version of another state is equal to it'],
    because: /for two values/,
    flaw: (memory) => events(memory, (event) => (event.type === 'put' ? { ...event, version: '1' } : event)),
  },
  {
    name: 'takes the key for the identity',
    refusedBy: ['an object has one uid in lists and watches, and another once it was made anew'],
    because: /has the uid of the one before/,
    flaw: (memory) => events(memory, (event) => (event.type === 'put' ? { ...event, uid: event.key } : event)),
  },
  {
    name: 'uses up its list by reading it',
    refusedBy: ['a list after a list is the same where nothing was written'],
    because: /two lists of the same differ/,
    flaw: (memory) => {
      const read = new Set<string>()
      return {
        list: pages(memory, (page) => {
          const left = page.events.filter(({ type, key = '' }) => type !== 'put' || !read.has(key))
          for (const { key = '' } of page.events) read.add(key)
          return [{ ...page, events: left }]
        }),
      }
    },
  },
  {
    name: 'has versions() that know nothing of deletes',
    refusedBy: ['an object has one version in lists and in versions()'],
    because: /do not agree on "k4"/,
    flaw: (memory) => ({
      async *versions(context) {
        for await (const { events, ...page } of memory.list(context)) {
          const keys = events.map(({ key = '', version = '' }) => ({ key, version }))
          yield { ...page, keys: [...keys, { key: 'k4', version: '1' }] }
        }
      },
    }),
  },
  {
    name: 'names a version that was read after the objects',
    refusedBy: ['a watch goes on where the list was: what is written while the list is read is not lost'],
    because: /"during1" is missing/,
    flaw: (memory) => ({
      async *list(context) {
        for await (const page of memory.list(context)) {
          yield page.version === undefined ? page : { ...page, version: await memory.head() }
        }
      },
    }),
  },
  {
    name: 'has versions with a letter that no header takes',
    refusedBy: ['a version is printable ASCII of at most 64 KiB, in lists, batches and bookmarks'],
    because: /not printable ASCII/,
    flaw: (memory) => ({
      list: pages(memory, ({ version, ...page }) => [
        version === undefined ? page : { ...page, version: `→${version}` },
      ]),
      watch: (context) => memory.watch({ ...context, after: context.after.replace('→', '') }),
    }),
  },
  {
    name: 'has another name at each look',
    refusedBy: ['the source has a name, which stays'],
    because: /its name was memory/,
    flaw: () => {
      let looks = 0
      return { name: () => `memory ${looks++}` }
    },
  },
  {
    name: 'says that versions include each other only where they are equal',
    refusedBy: ['a version includes itself, and what came before it, but not what came later'],
    because: /says false of list 1 and the version of list 0/,
    flaw: () => ({ hasReached: (at, mark) => at === mark }),
  },
  {
    name: 'compares versions as text',
    refusedBy: ['a version of a watch never goes back'],
    because: /went back from .*9 to .*10/,
    flaw: () => ({ hasReached: (at, mark) => at >= mark }),
  },
  {
    name: 'asks a replica that is behind where it is',
    refusedBy: ['a version that head() gives is included exactly when what was committed before is there'],
    because: /from before a write includes the head after it/,
    flaw: (memory) => ({ head: async () => shifted(await memory.head(), -1) }),
  },
  {
    name: 'gives writers the version before their write',
    refusedBy: ['a version that a writer is given is included exactly when what it wrote is there'],
    because: /from before a write includes its mark/,
    flaw: (_, { write }) => ({ subject: { write: async (changes) => shifted((await write(changes)) ?? '', -1) } }),
  },
  {
    name: 'takes anything for a version',
    refusedBy: ['a version that is none of this source is refused as PROTOCOL'],
    because: /nonsense did not fail/,
    flaw: () => ({ hasReached: (at, mark) => !(sequenceOf(at) < sequenceOf(mark)) }),
  },
]
