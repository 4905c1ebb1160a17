import type { MirrorCache } from '../../contract/mirror-cache.js'
import type { ListerWatcher } from '../../contract/source.js'
import { checkOptions, isObject, isPositive, type OptionCheck } from '../../util/validate-options.js'
import type { InformerOptions } from '../informer-types.js'
import { DynamicSourceSet } from './source-set.js'

export type AuditOption = false | { readonly periodMs?: number } | undefined

export const isAuditOption: OptionCheck = (value) =>
  value === false || isObject(value) === undefined ? undefined : 'must be false or an object'

export function checkAudit(call: string, audit: AuditOption): void {
  if (audit) checkOptions(`${call}: audit`, audit, { periodMs: isPositive })
}

/** A cache that nothing is saved to: the snapshots of a source. */
export type ReadOnlyCache = Pick<MirrorCache, 'name' | 'serveStale' | 'open'>

export interface SourceOptions {
  readonly audit: AuditOption
  /** The cache of the options or of the source. */
  readonly cache: MirrorCache | ReadOnlyCache | undefined
  /** Names the source, its selection, and the functions that change its objects; empty for a source set. */
  readonly fingerprint: string
}

export function sourceOptions<S, I extends object, P, T>(
  options: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S> | DynamicSourceSet<S>,
): SourceOptions {
  const { audit, cache } = options
  if (source instanceof DynamicSourceSet) return { audit, cache, fingerprint: '' }
  return { audit, cache: cache ?? snapshotsOf(options, source), fingerprint: fingerprintOf(options, source) }
}

/** The snapshots of a source, if their objects are those that the informer stores. */
function snapshotsOf<S, I extends object, P, T>(
  { schema, transform }: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S>,
): ReadOnlyCache | undefined {
  if (source.openSnapshot === undefined || schema !== undefined || transform !== undefined) return undefined
  const open: ReadOnlyCache['open'] = async (context) => await source.openSnapshot?.(context)
  return { name: 'its snapshot', serveStale: false, open }
}

function fingerprintOf<S, I extends object, P, T>(
  { transform, schema, onInvalid, audit }: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S>,
): string {
  return JSON.stringify([
    source.name,
    source.selection ?? null,
    transform === undefined ? null : String(transform),
    schema === undefined ? null : schema['~standard'].vendor,
    onInvalid ?? 'keep-previous',
    isAudited(source, audit),
  ])
}

export function assertAuditable(source: ListerWatcher<unknown>, audit: AuditOption): void {
  if (audit && source.hasReached === undefined) throw new TypeError(`createInformer: ${notAuditable(source)}`)
}

export function isAudited(source: ListerWatcher<unknown>, audit: AuditOption): boolean {
  return source.hasReached !== undefined && audit !== false && (audit ?? source.versions) !== undefined
}

export function notAuditable({ name }: ListerWatcher<unknown>): string {
  return `the source "${name}" cannot be audited: it cannot compare versions (it has no hasReached)`
}
