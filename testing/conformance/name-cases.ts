import { check } from './assertions.js'
import { buildCases } from './case-builder.js'
import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'

export const nameCases: readonly ConformanceCase[] = buildCases('name', [
  {
    name: 'the source has a name that never changes',
    async check(context) {
      const { name, heartbeatMs } = context.source
      check(typeof name === 'string' && name.trim() !== '', `its name is ${JSON.stringify(name)}`)
      const watch = context.watch(await context.list())
      await writeMany(context, 2)
      await watch.untilEqual(context.current)
      check(context.source.name === name, `its name was ${name}, and is ${context.source.name}`)
      check(context.source.heartbeatMs === heartbeatMs, 'its heartbeatMs has changed')
    },
  },
])
