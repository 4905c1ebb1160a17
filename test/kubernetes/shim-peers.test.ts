import { describe, expect, test } from 'vitest'
import { type ClientNodeInformer, makeInformer } from '../../adapters/kubernetes/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes } from './fake.js'
import type { FakeObject } from './fake-collection.js'

const PATH = '/api/v1/namespaces/default/configmaps'

interface Scene {
  readonly fake: FakeKubernetes
  readonly informer: ClientNodeInformer<FakeObject>
  /** As `verb name n`. */
  readonly delivered: string[]
  readonly errors: unknown[]
  /** It has what the fake has. */
  healed(): Promise<void>
}

/** An informer as client-node's users make one, over a fake; stopped at the end, when nothing may be left of it. */
async function withInformer(prepare: (fake: FakeKubernetes) => void, act: (scene: Scene) => Promise<void>) {
  await using fake = await FakeKubernetes.start()
  prepare(fake)
  const informer = makeInformer<FakeObject>(fake.config(), PATH, () => Promise.resolve({}))
  const delivered: string[] = []
  const errors: unknown[] = []
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, (object) => delivered.push(`${verb} ${textOf(object)}`))
  informer.on('error', (error) => errors.push(error))
  const isEqual = (): boolean => textsOf(informer.list()) === textsOf(fake.collection.at())
  const healed = (): Promise<void> => waitUntil('it to have what the server has', isEqual)
  await act({ fake, informer, delivered, errors, healed })
  await informer.stop()
  await waitUntil('no connection to be left', () => fake.connections === 0)
}

const textOf = ({ metadata, data }: FakeObject): string => `${metadata.name} ${Object(data).n}`
const textsOf = (objects: readonly FakeObject[]): string => objects.map(textOf).sort().join()
const filled = ({ collection }: FakeKubernetes): void => collection.fill(2)
const opened = (fake: FakeKubernetes): Promise<void> =>
  waitUntil('the watch to be open', () => fake.collection.watching.length > 0)

/** What other informers of JavaScript were found to do wrong; each letter is a story of theirs, and here how it must end. */
describe("makeInformer in the place of client-node's: known failures of other informers", () => {
  test('the only object, deleted and recreated while it was stopped, is delivered as a delete and an add, and kept', () =>
    withInformer(
      ({ collection }) => collection.fill(1),
      async ({ fake, informer, delivered, healed }) => {
        await informer.start()
        await informer.stop()
        fake.collection.delete('k0')
        fake.collection.put('k0', 'again')
        await informer.start()
        await healed()
        fake.collection.delete('k0')
        await healed()
        expect(delivered).toEqual(['add k0 0', 'delete k0 0', 'add k0 again', 'delete k0 again'])
      },
    ))
})

describe("the events of makeInformer in the place of client-node's", () => {
  test('what can no longer be read when it is started again is not deleted, but once it is', () =>
    withInformer(filled, async ({ fake, informer, delivered }) => {
      await startedUnreadable({ fake, informer, delivered })
      expect([delivered, informer.get('k1', 'default') !== undefined]).toEqual([[], true])
      fake.collection.delete('k1')
      await waitUntil('that event', () => delivered.length > 0)
      expect(delivered).toEqual(['delete k1 1'])
    }))

  test('what can be read again is an update', () =>
    withInformer(filled, async ({ fake, informer, delivered }) => {
      await startedUnreadable({ fake, informer, delivered })
      fake.collection.put('k1', 'good', { annotations: {} })
      await waitUntil('that event', () => delivered.length > 0)
      fake.collection.put('k0', 'after')
      await waitUntil('what comes next', () => delivered.length > 1)
      expect(delivered).toEqual(['update k1 good', 'update k0 after'])
    }))
})

/** Starts again, after a stop in which an object has become one that cannot be read; forgets the delivered events. */
async function startedUnreadable({
  fake,
  informer,
  delivered,
}: Pick<Scene, 'fake' | 'informer' | 'delivered'>): Promise<void> {
  await informer.start()
  await informer.stop()
  fake.collection.put('k1', 'deep', { annotations: { deep: nested(2_000) } })
  delivered.length = 0
  await informer.start()
  await opened(fake)
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
