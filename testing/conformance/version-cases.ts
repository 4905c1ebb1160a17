import { sample, watchUnderLoad, writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { check, checkVersion, sourceErrorOf } from './run/assertions.js'
import { buildCases, needs } from './run/case-builder.js'
import { SkipCase } from './run/case-context.js'

export const versionCases: readonly ConformanceCase[] = buildCases('versions', [], {
  'a version of a list, batch or bookmark is printable ASCII of at most 64 KiB': async (context) => {
    checkVersion((await context.list()).version, 'the list of an empty collection')
    const watch = await watchUnderLoad(context)
    for (const { version } of watch.batches) checkVersion(version, 'a batch')
    checkVersion((await context.list()).version, 'a list')
  },
  'a watch resumed at the version of any batch loses nothing': async (context) => {
    const watch = await watchUnderLoad(context)
    await context.write({ key: 'late', value: 'x' }, { key: 'k0', value: undefined })
    for (const cut of sample(watch.positions, 25)) {
      const resumed = context.watch(cut)
      await resumed.untilEqual(context.current)
      const began = context.expectStates('the position of the interrupted watch', [cut])
      context.expectStates(`the watch that was resumed at ${cut.version}`, resumed.positions, began)
      await resumed.stop()
    }
  },
  'the version of a bookmark proves that all earlier changes were delivered': async (context) => {
    const watch = await context.openWatch()
    for (let round = 0; round < 12; round++) {
      const next = watch.next('a batch')
      const writing = context.write({ key: `k${round % 3}`, value: `round ${round}` })
      watch.requestProgress()
      await writing
      await next
    }
    await watch.untilEqual(context.current)
    for (const at of watch.positions.filter((_, number) => (watch.batches[number - 1]?.events.length ?? 1) === 0)) {
      const resumed = context.watch(at)
      await resumed.untilEqual(context.current)
      await resumed.stop()
    }
  },
  'a resumed watch delivers the deletes that were missed': async (context) => {
    await writeMany(context, 5)
    const listing = await context.list()
    const watch = context.watch(listing)
    await context.untilOpen(watch)
    const position = watch.position()
    await watch.stop()
    await context.write({ key: 'k1', value: undefined }, { key: 'k2', value: undefined })
    await context.put('k2', 'recreated')
    await context.delete('k4')
    await context.watch(position).untilEqual(context.current)
    await context.watch(listing).untilEqual(context.current)
  },
  'an old and a recent version can be resumed at the same time': async (context) => {
    const old = await context.list()
    await writeMany(context, 5)
    const recent = await context.list()
    await context.delete('k2')
    const [behind, ahead] = [context.watch(old), context.watch(recent)]
    await ahead.untilEqual(context.current)
    await behind.untilEqual(context.current)
    const delivered = ahead.batches.flatMap(({ events }) => events).filter(({ type }) => type !== 'replace')
    check(
      delivered.length <= 1,
      `the watch from a recent version delivered ${delivered.length} events; one change was made`,
    )
  },
  'a version includes itself and earlier versions, but no later one': needs(['hasReached'], async (context) => {
    const versions: string[] = []
    for (let round = 0; round < 5; round++) {
      versions.push((await context.list()).version)
      await context.write({ key: 'k', value: `round ${round}` })
    }
    for (const [at, version] of versions.entries()) {
      for (const [mark, other] of versions.entries()) {
        const has = context.hasReached(version, other)
        check(has === at >= mark, `hasReached() returned ${has} for list ${at} and the version of list ${mark}`)
      }
    }
  }),
  'the versions of a watch never decrease': needs(['hasReached'], async (context) => {
    const { positions: trail } = await watchUnderLoad(context)
    for (const [at, { version }] of trail.entries()) {
      const before = trail[at - 1]?.version ?? version
      check(context.hasReached(version, before), `the watch went back from ${before} to ${version}`)
    }
  }),
  'the version of head() is reached exactly when everything committed before it is shown': needs(
    ['hasReached', 'head'],
    async (context) => {
      const before = await context.list()
      await writeMany(context, 3)
      const head = await context.head()
      const written = context.states.length - 1
      check(!context.hasReached(before.version, head), 'a list from before a write includes the head after it')
      check(context.hasReached((await context.list()).version, head), 'a list does not include the head before it')
      const watch = context.watch(before)
      await watch.until('the head', () => context.hasReached(watch.version, head))
      context.expectStates('a watch that has reached the head', [watch], written)
    },
  ),
  'the mark of a write is reached exactly when the write is shown': needs(['hasReached'], async (context) => {
    const watch = context.watch(await context.list())
    for (let round = 0; round < 5; round++) {
      const { version } = watch
      const mark = await context.write({ key: 'k', value: `round ${round}` })
      if (mark === undefined) throw new SkipCase('the writers of this source receive no marks')
      check(!context.hasReached(version, mark), 'a version from before a write includes its mark')
      await watch.until('the mark of a write', () => context.hasReached(watch.version, mark))
      context.expectCurrent('the mark of a write is included, but the write is not shown', watch.contents.values)
    }
  }),
  'a text that is not a version of the source is PROTOCOL': needs(['hasReached'], async (context) => {
    const { version } = await context.list()
    const compare = async (): Promise<unknown> => context.hasReached(version, 'not a version')
    const { code } = await sourceErrorOf('hasReached() with nonsense', compare())
    check(code === 'PROTOCOL', `hasReached() with nonsense threw ${code}`)
  }),
})
