import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { areEqual, difference } from './expected-contents.js'
import { check } from './run/assertions.js'
import { buildCases } from './run/case-builder.js'
import type { Listing } from './run/case-context.js'

export const listCases: readonly ConformanceCase[] = buildCases('lists', [], {
  'a list of an empty collection has at least one page, no objects and a version': async (context) => {
    const { pages, contents } = await context.list()
    check(pages.length > 0, 'a list of an empty collection yielded no page')
    context.expectCurrent('the list of an empty collection', contents.values)
  },
  'a list contains every object with its value': async (context) => {
    await writeMany(context, 7)
    await context.put('k3', 'written again')
    await context.delete('k5')
    context.expectCurrent('the list', (await context.list()).contents.values)
  },
  'a list is complete at every page size, even if the objects fill the last page': async (context) => {
    await writeMany(context, 6)
    for (const pageSize of [1, 2, 3, 5, 6, 7]) {
      const { contents } = await context.list({ pageSize })
      context.expectCurrent(`a list in pages of ${pageSize}`, contents.values)
    }
  },
  'a list of 2 500 objects is complete': async (context) => {
    await writeMany(context, 2_500)
    context.expectCurrent('the list', (await context.list()).contents.values)
  },
  'the last page of a list has its version': async (context) => {
    await writeMany(context, 5)
    const { pages } = await context.list({ pageSize: 2 })
    check(pages.at(-1)?.version !== undefined, 'the last page names no version')
    const early = pages.slice(0, -1).find(({ version }) => version !== undefined && version !== pages.at(-1)?.version)
    check(early === undefined, `an earlier page names another version: ${early?.version}`)
  },
  'a list is one snapshot, even if objects are added, changed and deleted between its pages': async (context) => {
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
  'a list is one snapshot, even if a writer never pauses': async (context) => {
    await writeMany(context, 10)
    let isStopped = false
    const writing = (async () => {
      for (let round = 0; round < 150 && !isStopped; round++) {
        await context.write({ key: `k${round % 10}`, value: `round ${round}` }, { key: 'k9', value: `all ${round}` })
        await context.clock.sleep(0)
      }
    })()
    try {
      for (let times = 0; times < 5; times++) {
        const from = context.states.length - 1
        // The list must not show a state from before it began: readers expect to see their own writes.
        const { contents, version } = await context.list({ pageSize: 3 })
        context.expectStates('the list', [{ contents, version }], Math.max(0, from - 1))
      }
    } finally {
      isStopped = true
      await writing
    }
  },
  'a list that is read while a writer writes names a version without later writes': async (context) => {
    let isStopped = false
    const writing = (async () => {
      // A watch that misses one of them never shows it: each has a key of its own.
      for (let round = 0; round < 300 && !isStopped; round++) {
        await context.put(`n${round}`, 'once')
        await context.clock.sleep(0)
      }
    })()
    const listings: Listing[] = []
    try {
      for (let times = 0; times < 5; times++) listings.push(await context.list({ pageSize: 10_000 }))
    } finally {
      isStopped = true
      await writing
    }
    for (const listing of listings) {
      const watch = context.watch(listing)
      await watch.untilEqual(context.current)
      await watch.stop()
    }
  },
  'a list shows everything that was committed before it began': async (context) => {
    for (let round = 0; round < 10; round++) {
      await context.put('k', `round ${round}`)
      context.expectCurrent(`list ${round}`, (await context.list()).contents.values)
    }
  },
  'a list is independent of another list at the same time': async (context) => {
    await writeMany(context, 9)
    const lists = await Promise.all([context.list({ pageSize: 2 }), context.list({ pageSize: 4 }), context.list()])
    for (const { contents } of lists) context.expectCurrent('a list', contents.values)
  },
  'two lists without a write in between are equal': async (context) => {
    await writeMany(context, 4)
    const [first, second] = [await context.list(), await context.list({ pageSize: 1 })]
    const [a, b] = [first.contents.values, second.contents.values]
    check(areEqual(a, b), `two lists of the same contents differ: ${difference(a, b)}`)
  },
})
