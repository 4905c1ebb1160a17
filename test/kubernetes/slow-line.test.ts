import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { describeKubernetes } from '../servers/index.js'
import type { Kubernetes } from '../servers/kubernetes.js'
import { type Resource, Stage } from './stage.js'
import { useKubernetes } from './support.js'

const BYTES_PER_SECOND = 1_000_000
const PAD_BYTES = 500_000
/** A server ends an answer after 60 s by default; watches are excepted. */
const LIMIT_SECONDS = 4

/** Twice as many objects as this do not fit into the buffers on the way when the server ends the answer. */
const OBJECTS = 20
/** Objects of half a megabyte, which cannot be compressed. */
const LARGE: Resource = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  draft: (name, n) => ({ metadata: { name }, data: { n: String(n), pad: randomBytes(PAD_BYTES / 2).toString('hex') } }),
}

/** One object after the other: on a busy machine 32 large writes at once take longer than the server allows. */
async function fill(stage: Stage, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await stage.put(`k${at}`, 1)
}

describeKubernetes('over a line of 1 MB/s', (server) => {
  const flags = [`--request-timeout=${LIMIT_SECONDS}s`]
  const own = useKubernetes(server, { flags })
  const slow = (
    {
      kubernetes = own.kubernetes,
      ...source
    }: { kubernetes?: Kubernetes; streamingLists?: boolean; pageSize?: number },
    act: (stage: Stage) => Promise<void>,
  ): Promise<void> =>
    Stage.with({ kubernetes, resource: LARGE, speed: 1, source }, async (stage) => {
      await fill(stage, OBJECTS)
      stage.proxy.throttle(BYTES_PER_SECOND)
      await act(stage)
      stage.proxy.pass()
    })
  const codes = ({ errors }: Stage): string[] => errors.map(({ code }) => code)

  test('[K6] a streamed list ends at the first attempt', () =>
    slow({}, async (stage) => {
      await stage.live()
      await stage.healed()
      expect(codes(stage)).toEqual([])
    }))

  test('[K6] a watch catches up, without a list', () =>
    slow({}, async (stage) => {
      await stage.live()
      stage.proxy.refuse()
      stage.resetLive()
      stage.proxy.refuse()
      let last = '0'
      for (let at = 0; at < OBJECTS; at++) last = await stage.put(`k${at}`, 2)
      stage.proxy.pass()
      stage.proxy.throttle(BYTES_PER_SECOND)
      await stage.until('all changes', () => Number(stage.informer.version) >= Number(last))
      await stage.healed()
      expect([codes(stage).filter((code) => code !== 'UNAVAILABLE'), stage.relists]).toEqual([[], 0])
    }))

  describe('from a server without a watch cache', () => {
    const uncached = useKubernetes(server, { flags, watchCache: false })

    test('[K7] a list that continued in one piece after 410, and was cut off by the server, is read in pages', () =>
      slow({ kubernetes: uncached.kubernetes, streamingLists: false, pageSize: 4 }, async (stage) => {
        stage.proxy.pass()
        await fill(stage, 2 * OBJECTS)
        stage.proxy.throttle(BYTES_PER_SECOND)
        const compacting = stage
          .until('the first page', () => (stage.proxy.bytes.get('toClient') ?? 0) > PAD_BYTES)
          .then(() => stage.put('later', 1))
          .then(() => uncached.kubernetes.compact())
        await stage.live()
        await compacting
        await stage.healed()
        expect(new Set(codes(stage))).toEqual(new Set(['UNAVAILABLE']))
      }))
  })
})
