import { OptionError } from '../contract/errors.js'
import { assertSource } from '../reflector/source-checks.js'
import { flawInSchema, preparing } from '../util/standard-schema.js'
import { membersOf } from '../util/type-guards.js'
import {
  checkOptions,
  isBoolean,
  isFunction,
  isInternal,
  isName,
  isObject,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../util/validate-options.js'
import { SourceInformer } from './informer.js'
import { InformerContext } from './informer-context.js'
import { InformerCore } from './informer-core.js'
import type { Informer, InformerOptions } from './informer-types.js'
import { assertAuditable, checkAudit, isAudited, isAuditOption, sourceOptions } from './sources/source-options.js'
import { isDynamic } from './sources/source-set.js'

const isCache: OptionCheck = (value) => {
  const { name, open, save, saveEveryMs, saveAfterShare, maxAgeMs } = membersOf(value)
  const isComplete = typeof name === 'string' && typeof open === 'function' && typeof save === 'function'
  const hasTimes = [saveEveryMs, saveAfterShare, maxAgeMs].every((each) => isPositive(each) === undefined)
  return isComplete && hasTimes ? undefined : 'must be a cache, such as the result of fileCache'
}

/**
 * Creates an informer, which mirrors a source into an indexed store. It opens no connection before `start`.
 *
 * @returns The informer, which is idle until `start`.
 * @throws OptionError for an unknown or a wrong option.
 * @throws TypeError if the source lacks `name`, `list` or `watch`, or if `audit` is set and it cannot compare versions.
 *
 * @example
 * ```ts
 * const informer = createInformer({
 *   source,
 *   indexes: (ix) => ({ status: ix.equal((order: Order) => order.status) }),
 * })
 * informer.on('error', (error) => console.error(error.message))
 * await informer.start().synced({ timeoutMs: 30_000 })
 * console.log(informer.by.status('open'))
 * await informer.stop()
 * ```
 */
export function createInformer<S, I extends object, P = S, T = P>(
  options: InformerOptions<S, I, P, T>,
): Informer<T, I> {
  if (options?.source === undefined)
    throw new OptionError('createInformer: option "source" is missing', { option: 'source' })
  checkOptions('createInformer', options, {
    source: isObject,
    name: isName,
    schema: flawInSchema,
    transform: isFunction,
    equals: isFunction,
    indexes: (value) =>
      isFunction(value) && 'must be a function, such as (ix) => ({ tenant: ix.equal((order) => order.tenant) })',
    onInvalid: isOneOf('omit', 'keep-previous'),
    onAccessLost: isOneOf('keep', 'clear'),
    freeze: isBoolean,
    intern: isBoolean,
    slices: isInternal,
    audit: isAuditOption,
    cache: isCache,
    clock: isObject,
    random: isObject,
    logger: isObject,
  })
  checkAudit('createInformer', options.audit)
  const { source, audit } = options
  if (isDynamic(source)) {
    if (options.cache !== undefined)
      throw new OptionError('createInformer: option "cache" needs one source, not a source set', { option: 'cache' })
    for (const each of source.sources.values()) assertAuditable(each, audit)
  } else {
    assertSource(source, 'createInformer')
    assertAuditable(source, audit)
  }
  const remembersFiltered = isDynamic(source) ? audit !== false : isAudited(source, audit)
  const context = new InformerContext<T, I>(options, preparing(options), { remembersFiltered })
  const core = new InformerCore<S, T>(context, source, sourceOptions(options, source), options.name)
  return new SourceInformer<S, I, T>(context, core)
}
