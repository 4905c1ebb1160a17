import { OptionError } from '../contract/errors.js'
import { checkOptions, isCount, isObject, isPositive } from '../util/validate-options.js'
import type { ReconcileOptions } from './controller-types.js'
import { scopeChecks } from './subscription-types.js'

const DEFAULT_MIN_MS = 100

/** Throws an OptionError that names the option if an option of `reconcile` is unknown or not valid. */
export function checkReconcileOptions<T, I>(options: ReconcileOptions<T, I>): void {
  checkOptions('reconcile', options, { ...scopeChecks, retry: isObject })
  const { retry } = options
  if (retry !== undefined) checkRetry(retry)
}

function checkRetry(retry: NonNullable<ReconcileOptions<never>['retry']>): void {
  checkOptions('reconcile: retry', retry, { minMs: isPositive, maxMs: isPositive, maxAttempts: isCount })
  const { minMs = DEFAULT_MIN_MS, maxMs } = retry
  if (maxMs !== undefined && maxMs < minMs) {
    const message = `reconcile: retry: option "maxMs" must be at least minMs (${minMs}), got ${maxMs}`
    throw new OptionError(message, { option: 'maxMs' })
  }
}
