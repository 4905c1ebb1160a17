import { expect, type RunnerTask, test } from 'vitest'
import { conformanceCases, describeListerWatcher } from '../../testing/index.js'
import { memoryHarness } from './memory-harness.js'

await describeListerWatcher('the memory source', memoryHarness)

test('what the harness lacks is a test that was skipped, with the reason; every other case ran', ({ task }) => {
  const ran = testsOf(task.file.tasks).filter((each) => each !== task)
  const needy = conformanceCases.filter(({ needs }) => needs.includes('connections')).map(({ name }) => name)
  const skipped = ran.filter(({ result }) => result?.state === 'skip')
  expect(skipped.map(({ name, result = {} }) => [name, 'note' in result ? result.note : undefined])).toEqual(
    needy.map((name) => [name, memoryHarness.unsupported?.connections]),
  )
  expect(ran.map(({ name }) => name).sort()).toEqual(conformanceCases.map(({ name }) => name).sort())
})

function testsOf(tasks: readonly RunnerTask[]): RunnerTask[] {
  return tasks.flatMap((each) => (each.type === 'suite' ? testsOf(each.tasks) : [each]))
}
