import { expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'
import { createWidgets, deleteWidgets, WIDGETS } from './widgets.js'

describeKubernetes('a resource of our own', (server) => {
  const own = useKubernetes(server)

  test('that is not there yet is waited for', () =>
    Stage.with({ kubernetes: own.kubernetes, resource: WIDGETS }, async (stage) => {
      stage.informer.start()
      await stage.until('it to fail', () => stage.informer.status.state === 'failed')
      expect(stage.errors[0]).toMatchObject({ code: 'NOT_FOUND' })
      await createWidgets(own.kubernetes)
      await stage.fill(5)
      await stage.healed(60_000)
    }))

  test('that is removed and recreated is followed', () =>
    Stage.with({ kubernetes: own.kubernetes, resource: WIDGETS }, async (stage) => {
      await stage.filled(5)
      await stage.healed()
      await deleteWidgets(own.kubernetes)
      const isMissing = (): boolean => stage.errors.some(({ code }) => code === 'NOT_FOUND')
      await stage.until('it to be missed', isMissing)
      await createWidgets(own.kubernetes)
      await stage.put('k1', 7)
      await stage.put('anew', 8)
      await stage.healed(60_000)
      expect([stage.informer.size, stage.relists]).toEqual([2, 1])
    }))
})
