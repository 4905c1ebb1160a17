import { expect, test } from 'vitest'
import { Home, wentBack } from '../../adapters/kubernetes/history/cluster-guard.js'

test('who was told to list at another cluster does so, though another one finds out that the history went back', () => {
  const home = new Home()
  const { signal } = new AbortController()
  home.listed('here', undefined, '5')
  const stays = [home.stay(signal, '5'), home.stay(signal, '5')]
  expect(() => home.compare('there')).toThrow('leads to another server')
  for (const stay of stays) expect(stay.signal.aborted).toBe(true)
  stays[0]?.end(wentBack('5', '4'))
  expect(() => home.listing('there', undefined, signal)).not.toThrow()
})
