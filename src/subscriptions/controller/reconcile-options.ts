import { OptionError } from '../../contract/errors.js'
import { membersOf } from '../../util/type-guards.js'
import {
  checkOptions,
  isCount,
  isFunction,
  isListOf,
  isObject,
  isPositive,
  type OptionCheck,
} from '../../util/validate-options.js'
import { scopeChecks } from '../subscription-types.js'
import type { ReconcileOptions, RetryOptions } from './controller-types.js'

const isLeases: OptionCheck = (value) =>
  typeof value === 'object' && value !== null && 'open' in value && typeof value.open === 'function'
    ? undefined
    : 'must be a lease store, as `memoryLeases` returns'

export function checkReconcileOptions<T, I, W extends readonly unknown[]>(options: ReconcileOptions<T, I, W>): void {
  checkOptions('reconcile', options, {
    ...scopeChecks,
    retry: isObject,
    rateLimit: isObject,
    priority: isFunction,
    leases: isLeases,
    watches: isListOf('{ informer, keys }', isWatch),
    after: isListOf('informers or groups', isAwaited),
  })
  const { retry, rateLimit } = options
  checkOptions('reconcile: retry', retry, { minMs: isPositive, maxMs: isPositive, maxAttempts: isCount })
  const { minMs, maxMs } = retryOf(retry)
  if (maxMs < minMs) {
    const message = `reconcile: retry: option "maxMs" must be at least minMs (${minMs}), got ${maxMs}`
    throw new OptionError(message, { option: 'maxMs' })
  }
  if (rateLimit === undefined) return
  checkOptions('reconcile: rateLimit', rateLimit, { perSecond: isPositive, burst: isCount })
  if (rateLimit.perSecond === undefined)
    throw new OptionError('reconcile: rateLimit: option "perSecond" is missing', { option: 'perSecond' })
}

function isAwaited(value: unknown): boolean {
  return typeof membersOf(value)['synced'] === 'function'
}

function isWatch(value: unknown): boolean {
  const { informer, keys } = membersOf(value)
  return typeof keys === 'function' && isAwaited(informer) && typeof membersOf(informer)['subscribe'] === 'function'
}

export function retryOf(options: RetryOptions = {}): Required<RetryOptions> {
  const { minMs = 100, maxMs = Math.max(minMs, 30_000), maxAttempts = Infinity } = options
  return { minMs, maxMs, maxAttempts }
}
