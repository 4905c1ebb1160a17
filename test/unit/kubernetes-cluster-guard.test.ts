import { expect, test } from 'vitest'
import { ClusterGuard } from '../../adapters/kubernetes/history/cluster-guard.js'
import { historyRewound } from '../../adapters/kubernetes/history/history-errors.js'

test('who was told to list at another cluster does so, though another one finds out that the history went back', () => {
  const home = new ClusterGuard()
  const { signal } = new AbortController()
  home.completeList('here', undefined, '5')
  const stays = [home.lease(signal, '5'), home.lease(signal, '5')]
  expect(() => home.assertCluster('there')).toThrow('points to another server')
  for (const stay of stays) expect(stay.signal.aborted).toBe(true)
  stays[0]?.release(historyRewound('5', '4'))
  expect(() => home.beginList('there', undefined, signal)).not.toThrow()
})
