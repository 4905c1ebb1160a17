import { expect, test } from 'vitest'
import { ClusterGuard } from '../../../../adapters/kubernetes/history/cluster-guard.js'
import { historyRewound } from '../../../../adapters/kubernetes/history/history-errors.js'

test('a mirror that must relist from another cluster does so even if a second mirror reports a rewound history', () => {
  const guard = new ClusterGuard()
  const { signal } = new AbortController()
  guard.completeList('here', undefined, '5')
  const leases = [guard.lease(signal, '5'), guard.lease(signal, '5')]
  expect(() => guard.assertCluster('there')).toThrow('points to another server')
  for (const lease of leases) expect(lease.signal.aborted).toBe(true)
  leases[0]?.release(historyRewound('5', '4'))
  expect(() => guard.beginList('there', undefined, signal)).not.toThrow()
})
