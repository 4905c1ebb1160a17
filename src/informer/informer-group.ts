import { type Clock, systemClock } from '../contract/clock.js'
import { ABORTED, SourceError } from '../contract/errors.js'
import { checkWait, type Wait } from '../util/deadline.js'
import { membersOf } from '../util/type-guards.js'
import { checkOptions, isCount, isListOf, isPositive, isSignal } from '../util/validate-options.js'
import type { Health, HealthOptions, Lifecycle } from './informer-types.js'
import { type GroupMember, isGroupMember } from './lifecycle.js'
import { RelistLimiter } from './relist-limiter.js'

/**
 * Groups informers, or other groups, that start, sync and stop together. Informers that a controller waits for
 * (`after`, `watches`) start before its informer. A stop with `drainMs` stops them after it; the time counts for all
 * together. With `maxRelists` at most that many of them list again at the same time, so that a restarted server is not
 * overloaded. First lists are not limited. A relist that takes longer than 5 minutes continues without its slot.
 * Default: no limit.
 *
 * @returns The group. It has the methods of one informer for all of them.
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
  const flaw = isListOf('informers or groups', isLifecycle)(informers)
  if (flaw !== undefined) throw new TypeError(`groupInformers: the first argument ${flaw}`)
  return new InformerGroup(informers, options.maxRelists)
}

class InformerGroup implements GroupMember {
  readonly #members: readonly Lifecycle[]
  #isStopped = false

  constructor(members: readonly Lifecycle[], maxRelists: number | undefined) {
    this.#members = [...members]
    if (maxRelists !== undefined) this.limitRelists(new RelistLimiter(maxRelists))
  }

  get clock(): Clock {
    return this.#members.find(isGroupMember)?.clock ?? systemClock
  }

  get parts(): readonly object[] {
    return [this, ...this.#members.flatMap((member) => (isGroupMember(member) ? member.parts : [member]))]
  }

  get dependencies(): readonly object[] {
    return this.#members.flatMap((member) => (isGroupMember(member) ? [...member.dependencies] : []))
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
    for (const member of stagesOf(this.#members).flat()) member.start(options)
    return this
  }

  async synced(wait: Wait = {}): Promise<void> {
    checkWait('synced', wait)
    if (this.#isStopped) throw new SourceError('synced: the group was stopped', { code: 'STOPPED' })
    const { signal, timeoutMs } = wait
    const ending = new AbortController()
    const waiting = AbortSignal.any(signal === undefined ? [ending.signal] : [signal, ending.signal])
    try {
      await Promise.all(this.#members.map((member) => member.synced({ signal: waiting, timeoutMs })))
    } finally {
      // If one member rejects, the other waits end.
      ending.abort(ABORTED)
    }
  }

  async stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    checkOptions('stop', options, { drainMs: isPositive })
    this.#isStopped = true
    const stages = stagesOf(this.#members).toReversed()
    const { drainMs } = options
    if (drainMs === undefined) await stopAll(stages.flat(), options)
    else await this.#drain(stages, drainMs)
  }

  /** Stops what depends on other members first, while these continue. */
  async #drain(stages: readonly (readonly Lifecycle[])[], drainMs: number): Promise<void> {
    const end = this.clock.now() + drainMs
    let failure: { readonly error: unknown } | undefined
    for (const stage of stages) {
      const leftMs = end - this.clock.now()
      try {
        await stopAll(stage, leftMs > 0 ? { drainMs: leftMs } : {})
      } catch (error) {
        failure ??= { error }
      }
    }
    if (failure !== undefined) throw failure.error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  health(options: HealthOptions = {}): Health {
    checkOptions('health', options, { silentAfterMs: isPositive, stuckAfterMs: isPositive })
    const all = this.#members.map((member) => member.health(options))
    const worst = all.find(({ isLive }) => !isLive) ?? all.find(({ isReady }) => !isReady) ?? all[0]
    return {
      isLive: all.every(({ isLive }) => isLive),
      isReady: all.every(({ isReady }) => isReady),
      reason: worst?.reason ?? 'there are no informers',
    }
  }
}

async function stopAll(
  members: readonly Lifecycle[],
  options: { readonly drainMs?: number | undefined },
): Promise<void> {
  const stopped = await Promise.allSettled(members.map(async (member) => member.stop(options)))
  for (const each of stopped) if (each.status === 'rejected') throw each.reason
}

function isLifecycle(value: unknown): value is Lifecycle {
  const { start, synced, stop, health } = membersOf(value)
  return [start, synced, stop, health].every((method) => typeof method === 'function')
}

/** Members depend on members of earlier stages only. In a cycle the first member of the array is in the last stage. */
function stagesOf(members: readonly Lifecycle[]): readonly (readonly Lifecycle[])[] {
  const withPart = new Map<object, Lifecycle[]>()
  for (const member of members)
    for (const part of partsOf(member)) withPart.set(part, [...(withPart.get(part) ?? []), member])
  const dependenciesOf = (member: Lifecycle): readonly Lifecycle[] => {
    const wanted = isGroupMember(member) ? member.dependencies : []
    return [...wanted].flatMap((part) => withPart.get(part) ?? []).filter((other) => other !== member)
  }
  const levels = new Map<Lifecycle, number>()
  const levelOf = (member: Lifecycle): number => {
    const known = levels.get(member)
    if (known !== undefined) return known
    levels.set(member, 0) // A cycle ends here.
    const level = Math.max(0, ...dependenciesOf(member).map((each) => 1 + levelOf(each)))
    levels.set(member, level)
    return level
  }
  const stages = Map.groupBy(members, levelOf)
  return [...stages].sort(([a], [b]) => a - b).map(([, stage]) => stage)
}

/** A program may wait for a group or for a member of it. */
function partsOf(member: Lifecycle): readonly object[] {
  return isGroupMember(member) ? member.parts : [member]
}
