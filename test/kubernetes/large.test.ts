import { expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import { Stage } from './stage.js'
import { useKubernetes } from './support.js'

/** As many as are requested; 50 000 take a minute to write. */
const OBJECTS = Number(process.env['LISTWATCH_KUBERNETES_OBJECTS'] ?? 5_000)

describeKubernetes(`${OBJECTS} objects`, (server) => {
  const own = useKubernetes(server)

  test(
    'are listed, changed in numbers, and listed again after a restart of the server',
    () =>
      Stage.with({ kubernetes: own.kubernetes, speed: 1 }, async (stage) => {
        const { admin, api } = own.kubernetes
        await admin.many(OBJECTS, (at) => admin.create(stage.path, stage.resource.draft(`k${at}`, at)))
        await stage.live()
        await stage.healed(120_000)
        expect(stage.informer.size).toBe(OBJECTS)
        await admin.many(Math.ceil(OBJECTS / 50), (at) => stage[at % 2 === 0 ? 'touch' : 'remove'](`k${at}`))
        await stage.healed(120_000)
        await api.kill()
        await api.start()
        await stage.remove('k0')
        await stage.healed(120_000)
        expect(stage.errors.filter(({ code }) => code !== 'UNAVAILABLE' && code !== 'VERSION_EXPIRED')).toEqual([])
      }),
    600_000,
  )
})
