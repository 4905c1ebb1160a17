import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { check } from './run/assertions.js'
import { buildCases } from './run/case-builder.js'
import { SkipCase } from './run/case-context.js'

/** Keys that careless sources mishandle, each with a printable name. */
const HOSTILE: readonly (readonly [name: string, key: string])[] = [
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['of no characters', ''],
  ['of 2 000 characters', 'long-'.repeat(400)],
  ['of spaces', '  '],
  ['with slashes', '/a//b/../c/'],
  ['with separators', 'a:b|c,d;e.f=g&h\\i%2Fj'],
  ['with quotes', `a'b"c\`d\${e}--/*`],
  ['with line breaks and tabs', 'a\nb\r\nc\td'],
  ['with a NUL', 'a\u0000b'],
  ['of other scripts and emoji', 'żółć 日本語 עברית 👩‍👩‍👧'],
  ['that ends in an unpaired surrogate', 'a\ud83d'],
  ['that looks like JSON', '{"a":[1,null]}'],
  ['"null"', 'null'],
]

const SIMILAR: readonly string[] = ['a', 'A', ' a', 'a ', '\u00e9', 'e\u0301', '1', '01', '1.0']

export const keyCases: readonly ConformanceCase[] = [
  ...HOSTILE.flatMap(([name, key]) =>
    buildCases('keys', [], {
      [`a key ${name} is returned unchanged`]: async (context) => {
        const why = context.subject.refuses?.(key)
        if (why !== undefined) throw new SkipCase(why)
        await context.write({ key, value: 'listed' }, { key: 'other', value: 'x' })
        const listing = await context.list({ pageSize: 1 })
        context.expectCurrent('the list', listing.contents.values)
        const watch = context.watch(listing)
        await context.put(key, 'changed')
        await watch.untilEqual(context.current)
        await context.delete(key)
        await watch.untilEqual(context.current)
        await context.put(key, 'recreated')
        await watch.untilEqual(context.current)
        context.expectCurrent('another list', (await context.list()).contents.values)
        const { prototype } = Object
        check(Object.keys(prototype).length === 0, 'the prototype of all objects was written to')
      },
    }),
  ),
  ...buildCases('keys', [], {
    'similar keys are different': async (context) => {
      const keys = SIMILAR.filter((key) => context.subject.refuses?.(key) === undefined)
      if (keys.length < 2) throw new SkipCase('this source accepts no two similar keys')
      await context.write(...keys.map((key, at) => ({ key, value: `value ${at}` })))
      const listing = await context.list()
      context.expectCurrent('the list', listing.contents.values)
      const watch = context.watch(listing)
      for (const key of keys) {
        await context.delete(key)
        await watch.untilEqual(context.current)
      }
    },
  }),
]

export const nameCases: readonly ConformanceCase[] = buildCases('name', [], {
  'the source has a name that never changes': async (context) => {
    const { name, heartbeatMs } = context.source
    check(typeof name === 'string' && name.trim() !== '', `its name is ${JSON.stringify(name)}`)
    const watch = context.watch(await context.list())
    await writeMany(context, 2)
    await watch.untilEqual(context.current)
    check(context.source.name === name, `its name was ${name}, and is ${context.source.name}`)
    check(context.source.heartbeatMs === heartbeatMs, 'its heartbeatMs has changed')
  },
})
