import { check } from './assertions.js'
import { casesOf } from './case-builder.js'
import type { ConformanceCase } from './conformance-case.js'
import { fill } from './list-cases.js'

export const nameCases: readonly ConformanceCase[] = casesOf('the source', [
  {
    name: 'has a name, which stays',
    async check(trial) {
      const { name, heartbeatMs } = trial.source
      check(typeof name === 'string' && name.trim() !== '', `its name is ${JSON.stringify(name)}`)
      const watching = trial.watch(await trial.list())
      await fill(trial, 2)
      await watching.reaches(trial.now)
      check(trial.source.name === name, `its name was ${name}, and is ${trial.source.name}`)
      check(trial.source.heartbeatMs === heartbeatMs, 'its heartbeatMs has changed')
    },
  },
])
