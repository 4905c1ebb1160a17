import { check } from './assertions.js'
import { buildCases } from './case-builder.js'
import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { areEqual, difference } from './expected-contents.js'

export const listCases: readonly ConformanceCase[] = buildCases('a list', [
  {
    name: 'of an empty collection has at least one page, no objects and a version',
    async check(context) {
      const { pages, contents } = await context.list()
      check(pages.length > 0, 'a list of an empty collection gave no page')
      context.expectCurrent('the list of an empty collection', contents.values)
    },
  },
  {
    name: 'holds every object with its value',
    async check(context) {
      await writeMany(context, 7)
      await context.put('k3', 'written again')
      await context.delete('k5')
      context.expectCurrent('the list', (await context.list()).contents.values)
    },
  },
  {
    name: 'is whole at every page size, also where the objects fill the last page',
    async check(context) {
      await writeMany(context, 6)
      for (const pageSize of [1, 2, 3, 5, 6, 7]) {
        const { contents } = await context.list({ pageSize })
        context.expectCurrent(`a list in pages of ${pageSize}`, contents.values)
      }
    },
  },
  {
    name: 'of 2 500 objects is whole',
    async check(context) {
      await writeMany(context, 2_500)
      context.expectCurrent('the list', (await context.list()).contents.values)
    },
  },
  {
    name: 'names its version on its last page',
    async check(context) {
      await writeMany(context, 5)
      const { pages } = await context.list({ pageSize: 2 })
      check(pages.at(-1)?.version !== undefined, 'the last page names no version')
      const early = pages.slice(0, -1).find(({ version }) => version !== undefined && version !== pages.at(-1)?.version)
      check(early === undefined, `an earlier page names another version: ${early?.version}`)
    },
  },
  {
    name: 'is one snapshot, also where objects are written, added and deleted between its pages',
    async check(context) {
      await writeMany(context, 12)
      const { contents, version } = await context.list({
        pageSize: 2,
        between: async (page) => {
          await context.write(
            { key: 'k0', value: `first ${page}` },
            { key: 'k11', value: `last ${page}` },
            { key: `new${page}`, value: 'new' },
            { key: `k${page}`, value: undefined },
          )
        },
      })
      context.expectStates('the list', [{ contents, version }])
    },
  },
  {
    name: 'is one snapshot, also where somebody writes all the time',
    async check(context) {
      await writeMany(context, 10)
      let isOver = false
      const writing = (async () => {
        for (let round = 0; round < 150 && !isOver; round++) {
          await context.write({ key: `k${round % 10}`, value: `round ${round}` }, { key: 'k9', value: `all ${round}` })
          await context.clock.sleep(0)
        }
      })()
      try {
        for (let times = 0; times < 5; times++) {
          const from = context.states.length - 1
          // A state that was over when the list began is none that a list may give to whoever reads their own writes.
          const { contents, version } = await context.list({ pageSize: 3 })
          context.expectStates('the list', [{ contents, version }], Math.max(0, from - 1))
        }
      } finally {
        isOver = true
        await writing
      }
    },
  },
  {
    name: 'shows what was committed before it began',
    async check(context) {
      for (let round = 0; round < 10; round++) {
        await context.put('k', `round ${round}`)
        context.expectCurrent(`list ${round}`, (await context.list()).contents.values)
      }
    },
  },
  {
    name: 'is independent of another that is read at the same time',
    async check(context) {
      await writeMany(context, 9)
      const lists = await Promise.all([context.list({ pageSize: 2 }), context.list({ pageSize: 4 }), context.list()])
      for (const { contents } of lists) context.expectCurrent('a list', contents.values)
    },
  },
  {
    name: 'after a list is the same where nothing was written',
    async check(context) {
      await writeMany(context, 4)
      const [first, second] = [await context.list(), await context.list({ pageSize: 1 })]
      const [a, b] = [first.contents.values, second.contents.values]
      check(areEqual(a, b), `two lists of the same differ: ${difference(a, b)}`)
    },
  },
])
