import type { Lifecycle } from './informer-types.js'
import { isGroupMember } from './lifecycle.js'

/**
 * Sorts the members of a group into stages, so that each member depends on members of earlier stages only. In a cycle
 * the first member of the array is in the last stage.
 */
export function stagesOf(members: readonly Lifecycle[]): readonly (readonly Lifecycle[])[] {
  const levels = new Map<Lifecycle, number>()
  const levelOf = (member: Lifecycle): number => {
    const known = levels.get(member)
    if (known !== undefined) return known
    levels.set(member, 0) // A cycle ends here.
    const level = Math.max(0, ...dependenciesOf(member, members).map((each) => 1 + levelOf(each)))
    levels.set(member, level)
    return level
  }
  const stages = Map.groupBy(members, levelOf)
  return [...stages].sort(([a], [b]) => a - b).map(([, stage]) => stage)
}

function dependenciesOf(member: Lifecycle, members: readonly Lifecycle[]): Lifecycle[] {
  const wanted = new Set<object>(isGroupMember(member) ? member.dependencies : [])
  return members.filter((other) => other !== member && partsOf(other).some((part) => wanted.has(part)))
}

/** A program may wait for a group or for a member of it. */
function partsOf(member: Lifecycle): readonly object[] {
  return isGroupMember(member) ? member.parts : [member]
}
