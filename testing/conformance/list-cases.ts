import { check } from './assertions.js'
import { casesOf } from './case-builder.js'
import type { Trial } from './case-context.js'
import type { ConformanceCase } from './conformance-case.js'
import { areEqual, difference } from './expected-contents.js'

/** Writes `k0`, `k1` and so on as one transaction, or one after the other. */
export async function fill(trial: Trial, count: number, value = 'v'): Promise<void> {
  const changes = Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: `${value}${at}` }))
  await trial.write(...changes)
}

export const listCases: readonly ConformanceCase[] = casesOf('a list', [
  {
    name: 'of an empty collection has at least one page, no objects and a version',
    async check(trial) {
      const { pages, contents } = await trial.list()
      check(pages.length > 0, 'a list of an empty collection gave no page')
      trial.expectNow('the list of an empty collection', contents.values)
    },
  },
  {
    name: 'holds every object with its value',
    async check(trial) {
      await fill(trial, 7)
      await trial.put('k3', 'written again')
      await trial.delete('k5')
      trial.expectNow('the list', (await trial.list()).contents.values)
    },
  },
  {
    name: 'is whole at every page size, also where the objects fill the last page',
    async check(trial) {
      await fill(trial, 6)
      for (const pageSize of [1, 2, 3, 5, 6, 7]) {
        const { contents } = await trial.list({ pageSize })
        trial.expectNow(`a list in pages of ${pageSize}`, contents.values)
      }
    },
  },
  {
    name: 'of 2 500 objects is whole',
    async check(trial) {
      await fill(trial, 2_500)
      trial.expectNow('the list', (await trial.list()).contents.values)
    },
  },
  {
    name: 'names its version on its last page',
    async check(trial) {
      await fill(trial, 5)
      const { pages } = await trial.list({ pageSize: 2 })
      check(pages.at(-1)?.version !== undefined, 'the last page names no version')
      const early = pages.slice(0, -1).find(({ version }) => version !== undefined && version !== pages.at(-1)?.version)
      check(early === undefined, `an earlier page names another version: ${early?.version}`)
    },
  },
  {
    name: 'is one snapshot, also where objects are written, added and deleted between its pages',
    async check(trial) {
      await fill(trial, 12)
      const { contents, version } = await trial.list({
        pageSize: 2,
        between: async (page) => {
          await trial.write(
            { key: 'k0', value: `first ${page}` },
            { key: 'k11', value: `last ${page}` },
            { key: `new${page}`, value: 'new' },
            { key: `k${page}`, value: undefined },
          )
        },
      })
      trial.expectStates('the list', [{ contents, version }])
    },
  },
  {
    name: 'is one snapshot, also where somebody writes all the time',
    async check(trial) {
      await fill(trial, 10)
      let isOver = false
      const writing = (async () => {
        for (let round = 0; round < 150 && !isOver; round++) {
          await trial.write({ key: `k${round % 10}`, value: `round ${round}` }, { key: 'k9', value: `all ${round}` })
          await trial.clock.sleep(0)
        }
      })()
      try {
        for (let times = 0; times < 5; times++) {
          const from = trial.states.length - 1
          // A state that was over when the list began is none that a list may give to whoever reads their own writes.
          const { contents, version } = await trial.list({ pageSize: 3 })
          trial.expectStates('the list', [{ contents, version }], Math.max(0, from - 1))
        }
      } finally {
        isOver = true
        await writing
      }
    },
  },
  {
    name: 'shows what was committed before it began',
    async check(trial) {
      for (let round = 0; round < 10; round++) {
        await trial.put('k', `round ${round}`)
        trial.expectNow(`list ${round}`, (await trial.list()).contents.values)
      }
    },
  },
  {
    name: 'is independent of another that is read at the same time',
    async check(trial) {
      await fill(trial, 9)
      const lists = await Promise.all([trial.list({ pageSize: 2 }), trial.list({ pageSize: 4 }), trial.list()])
      for (const { contents } of lists) trial.expectNow('a list', contents.values)
    },
  },
  {
    name: 'after a list is the same where nothing was written',
    async check(trial) {
      await fill(trial, 4)
      const [first, second] = [await trial.list(), await trial.list({ pageSize: 1 })]
      const [a, b] = [first.contents.values, second.contents.values]
      check(areEqual(a, b), `two lists of the same differ: ${difference(a, b)}`)
    },
  },
])
