import { hasMethods } from '../../adapters/common/properties.js'
import { systemClock } from '../../src/contract/clock.js'
import { OptionError } from '../../src/contract/errors.js'
import { systemRandom } from '../../src/contract/random.js'
import type { RelayStore } from '../../src/contract/relay-store.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { internalsOf } from '../../src/informer/internals.js'
import { checkOptions, isBoolean, isObject, type OptionCheck } from '../../src/util/validate-options.js'
import { Publisher } from './publisher.js'
import type { RelayServing, ServeRelayOptions } from './relay-types.js'
import { isStore } from './store-check.js'

const isLeases: OptionCheck = (value) =>
  hasMethods(value, 'open') ? undefined : 'must be leases, such as redisLeases of listwatch/redis returns'

/**
 * Publishes the mirror of an informer to an engine. Any number of followers read it there with `relaySource`. Each
 * batch is written as a whole, together with its version, so that another process can continue after a crash at any
 * moment.
 *
 * Call it before `informer.start()`, and pass `relayCache(store)` as the informer's `cache`: then a relay that starts
 * again resumes from the store, and lists neither the source nor the store.
 *
 * @returns The relay, which writes until it is stopped.
 * @throws OptionError for a wrong option, for an informer of several sources, and for a source of secrets without
 * `secrets: true`.
 * @throws SourceError STOPPED if the informer was stopped.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisLeases, redisRelayStore } from 'listwatch/redis'
 * import { serveRelay, relayCache } from 'listwatch/relay'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const store = redisRelayStore({ client, relay: 'orders' })
 * const orders = createInformer({ source, cache: relayCache(store) })
 * const leases = redisLeases({ client, group: 'relay:orders', mode: 'leader' })
 * const relay = serveRelay(orders, store, { leases })
 * orders.start()
 * process.once('SIGINT', async () => {
 *   await relay.stop({ drainMs: 5_000 })
 *   await orders.stop()
 * })
 * ```
 */
export function serveRelay<T, I>(
  informer: Informer<T, I>,
  store: RelayStore,
  options: ServeRelayOptions = {},
): RelayServing {
  checkOptions('serveRelay', options, {
    leases: isLeases,
    secrets: isBoolean,
    logger: isObject,
    clock: isObject,
    random: isObject,
  })
  const flaw = isStore(store)
  if (flaw !== undefined) throw new OptionError(`serveRelay: the store ${flaw}`, { option: 'store' })
  const internals = internalsOf(informer)
  if (internals === undefined)
    throw new OptionError('serveRelay: the first argument must be an informer', { option: 'informer' })
  const { mirror } = internals
  if (mirror === undefined)
    throw new OptionError('serveRelay: an informer of several sources has no version: publish each source by itself', {
      option: 'informer',
    })
  if (mirror.source.isSensitive === true && options.secrets !== true)
    throw new OptionError(
      `serveRelay: the source has secrets, and ${store.name} would contain them; allow it with secrets: true`,
      { option: 'secrets' },
    )
  const { clock = systemClock, random = systemRandom, leases, logger } = options
  return new Publisher<T>(informer as unknown as Informer<T>, mirror, store, { clock, random, leases, logger })
}
