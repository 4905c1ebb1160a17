import type { Lifecycle } from './informer-types.js'
import { isGroupMember } from './lifecycle.js'

/**
 * Sorts the members of a group into stages, so that each member depends on members of earlier stages only. In a cycle
 * the first member of the array is in the last stage.
 */
export function stagesOf(members: readonly Lifecycle[]): readonly (readonly Lifecycle[])[] {
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
