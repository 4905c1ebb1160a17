import { ABORTED, SourceError } from '../contract/errors.js'
import { checkWait, type Wait } from '../util/deadline.js'
import { membersOf } from '../util/type-guards.js'
import { checkOptions, isCount, isPositive, isSignal } from '../util/validate-options.js'
import type { Health, HealthOptions, Lifecycle } from './informer-types.js'
import { type GroupMember, isGroupMember } from './lifecycle.js'
import { RelistLimiter } from './relist-limiter.js'

/**
 * Groups informers, or other groups, that start, sync and stop together. With `maxRelists` at most that many of them list
 * again at the same time, so that a restarted server is not overloaded. First lists are not limited. A relist that takes
 * longer than 5 minutes continues without its slot. Default: no limit.
 *
 * @throws TypeError if the first argument is not an array of informers or groups; OptionError for a wrong option.
 *
 * @example
 * ```ts
 * const group = groupInformers([orders, pods], { maxRelists: 1 })
 * await group.start({ signal }).synced()
 * await group.stop({ drainMs: 5_000 })
 * ```
 */
export function groupInformers(
  informers: readonly Lifecycle[],
  options: { readonly maxRelists?: number | undefined } = {},
): Lifecycle {
  checkOptions('groupInformers', options, { maxRelists: isCount })
  if (!Array.isArray(informers) || !informers.every(isLifecycle))
    throw new TypeError('groupInformers: the first argument must be an array of informers or groups')
  return new InformerGroup(informers, options.maxRelists)
}

class InformerGroup implements GroupMember {
  readonly #members: readonly Lifecycle[]
  #isStopped = false

  constructor(members: readonly Lifecycle[], maxRelists: number | undefined) {
    this.#members = [...members]
    if (maxRelists !== undefined) this.limitRelists(new RelistLimiter(maxRelists))
  }

  limitRelists(limiter: RelistLimiter): void {
    for (const member of this.#members) if (isGroupMember(member)) member.limitRelists(limiter)
  }

  assertStartable(): void {
    if (this.#isStopped) throw new SourceError('start: the group was stopped', { code: 'STOPPED' })
    for (const member of this.#members) if (isGroupMember(member)) member.assertStartable()
  }

  start(options: { readonly signal?: AbortSignal | undefined } = {}): this {
    checkOptions('start', options, { signal: isSignal })
    this.assertStartable() // Before any member is started.
    for (const member of this.#members) member.start(options)
    return this
  }

  async synced(wait: Wait = {}): Promise<void> {
    checkWait('synced', wait)
    if (this.#isStopped) throw new SourceError('synced: the group was stopped', { code: 'STOPPED' })
    const { signal, timeoutMs } = wait
    const waiting = new AbortController()
    const abort = (): void => waiting.abort(signal?.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await Promise.all(this.#members.map((member) => member.synced({ signal: waiting.signal, timeoutMs })))
    } finally {
      // If one member rejects, the other waits end.
      waiting.abort(ABORTED)
      signal?.removeEventListener('abort', abort)
    }
  }

  async stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    checkOptions('stop', options, { drainMs: isPositive })
    this.#isStopped = true
    // All members are stopped, also if one of them throws.
    const stopped = await Promise.allSettled(this.#members.map(async (member) => member.stop(options)))
    for (const each of stopped) if (each.status === 'rejected') throw each.reason
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  health(options: HealthOptions = {}): Health {
    checkOptions('health', options, { staleAfterMs: isPositive, stuckAfterMs: isPositive })
    const all = this.#members.map((member) => member.health(options))
    const worst = all.find(({ isLive }) => !isLive) ?? all.find(({ isReady }) => !isReady) ?? all[0]
    return {
      isLive: all.every(({ isLive }) => isLive),
      isReady: all.every(({ isReady }) => isReady),
      reason: worst?.reason ?? 'there are no informers',
    }
  }
}

function isLifecycle(value: unknown): value is Lifecycle {
  const { start, synced, stop, health } = membersOf(value)
  return [start, synced, stop, health].every((method) => typeof method === 'function')
}
