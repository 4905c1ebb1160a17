import type { Kind } from '../runner/schedule.js'
import type { Mutant } from './mutate.js'

const kind: Kind = 'group'

/** Informers that start, sync and stop together, and take turns. */
export const mutantsOfGroups: readonly Mutant[] = [
  {
    name: 'a group is synced as soon as one is',
    breaks: 'synced of a group means all',
    kind,
    file: 'informer/informer-group.ts',
    edits: [
      [
        'await Promise.all(this.#members.map((member) => member.synced',
        'await Promise.race(this.#members.map((member) => member.synced',
      ],
    ],
  },
  {
    name: 'a group starts its first member alone',
    breaks: 'a group starts all',
    kind,
    file: 'informer/informer-group.ts',
    edits: [
      [
        'for (const member of stagesOf(this.#members).flat()) member.start(options)',
        'for (const member of this.#members.slice(0, 1)) member.start(options)',
      ],
    ],
  },
  {
    name: 'a group stops its first member alone',
    breaks: 'a group stops all (I15)',
    kind,
    file: 'informer/informer-group.ts',
    edits: [
      [
        'members.map(async (member) => member.stop(options))',
        'members.slice(0, 1).map((member) => member.stop(options))',
      ],
    ],
  },
  {
    name: 'a group drains no member',
    breaks: 'stop({ drainMs }) of a group lets all members handle what waits',
    kind,
    file: 'informer/informer-group.ts',
    edits: [
      [
        'members.map(async (member) => member.stop(options))',
        'members.map(async (member) => member.stop(options && {}))',
      ],
    ],
  },
  {
    name: 'a group is as ready as its most ready member',
    breaks: 'a group is as ready as its least ready member',
    kind,
    file: 'informer/informer-group.ts',
    edits: [['all.every(({ isReady }) => isReady)', 'all.some(({ isReady }) => isReady)']],
  },
  {
    name: 'the limit does not reach the members',
    breaks: 'at most `maxRelists` members list again at a time',
    kind,
    file: 'informer/informer-group.ts',
    edits: [['if (isGroupMember(member)) member.limitRelists(limiter)', 'void limiter']],
  },
  {
    name: 'the inner limit counts',
    breaks: 'the outer limit counts',
    kind,
    file: 'informer/informer-group.ts',
    edits: [
      [
        'if (isGroupMember(member)) member.limitRelists(limiter)',
        'if (isGroupMember(member) && !(member instanceof InformerGroup)) member.limitRelists(limiter)',
      ],
    ],
  },
  {
    name: 'one more than the limit',
    breaks: 'at most `maxRelists` members list again at a time',
    kind,
    file: 'informer/relist-limiter.ts',
    edits: [['this.#running < this.#max', 'this.#running <= this.#max']],
  },
  {
    name: 'a turn that is over goes to no other member',
    breaks: 'no member waits for its turn without need',
    kind,
    file: 'informer/relist-limiter.ts',
    edits: [['          this.#waiting.values().next().value?.()\n', '']],
  },
  {
    name: 'the member that came last is next',
    breaks: 'members have their turns in the order in which they came',
    kind,
    file: 'informer/relist-limiter.ts',
    edits: [['this.#waiting.values().next().value?.()', '[...this.#waiting].at(-1)?.()']],
  },
  {
    name: 'a member that has left still gets a turn',
    breaks: 'a member that is stopped while it waits leaves nothing',
    kind,
    file: 'informer/relist-limiter.ts',
    edits: [
      [
        '      const leave = (): void => {\n        this.#waiting.delete(begin)\n',
        '      const leave = (): void => {\n',
      ],
    ],
  },
  {
    name: 'a list that fails keeps its turn',
    breaks: 'no member waits for its turn without need',
    kind,
    file: 'reflector/relist-slot.ts',
    edits: [
      [
        '    return await begin()\n  } finally {\n    release()\n  }',
        '    const outcome = await begin()\n    release()\n    return outcome\n  } finally {\n  }',
      ],
    ],
  },
  {
    name: 'first lists take turns too',
    breaks: 'first lists are not held back',
    kind,
    file: 'reflector/reflector.ts',
    edits: [
      [
        'effect.isFirst ? undefined : this.#hooks.acquireRelistSlot?.(attempt.signal)',
        'this.#hooks.acquireRelistSlot?.(attempt.signal)',
      ],
    ],
  },
  {
    name: 'a relist that is requested while one waits is another list',
    breaks: 'a list that waits for its turn also answers relists that are requested meanwhile',
    kind,
    file: 'reflector/reflector-state.ts',
    edits: [['  admitted: begin,\n', '  admitted: keep,\n']],
  },
]
