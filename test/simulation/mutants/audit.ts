import type { Mutant } from './mutate.js'

/** Audits: they find every wrong state of a store, and report no others. */
export const mutantsOfAudit: readonly Mutant[] = [
  {
    name: 'an audit compares what was written meanwhile',
    breaks: 'an audit finds what is wrong, and nothing else (I16)',
    file: 'informer/audit.ts',
    edits: [['if (!written.keys.has(key) && this.#differs(item)) drift.push(key)', 'drift.push(key)']],
  },
  {
    name: 'an audit rests for fifty periods',
    breaks: 'what is wrong is found within a period (I16)',
    file: 'informer/audit.ts',
    edits: [['Math.max(drawnMs, restMs)', 'Math.max(50 * drawnMs, restMs)']],
  },
  {
    name: 'an audit ignores what a relist passes over',
    breaks: 'an audit finds what is wrong, and nothing else (I16)',
    file: 'informer/audit.ts',
    edits: [
      [
        '      if (written.isReplaced) return drift\n      if (!written.keys.has(key) && this.#differs(item))',
        '      if (!written.keys.has(key) && this.#differs(item))',
      ],
    ],
  },
  {
    name: 'an audit sees no ghosts',
    breaks: 'what the source does not have any more is found (I16)',
    file: 'informer/audit.ts',
    edits: [['if (!written.keys.has(key)) drift.push(key)', 'void key']],
  },
  {
    name: 'an audit takes for missing what came without a key',
    breaks: 'an audit finds what is wrong, and nothing else (I16)',
    file: 'informer/audit.ts',
    edits: [['        isWhole = false\n', '']],
  },
  {
    name: 'a relist trusts versions',
    breaks: 'what an audit finds is repaired by a relist (I16)',
    file: 'reflector/reflector.ts',
    edits: [['this.#sink.replace({ ignoreVersions: true })', 'this.#sink.replace({ ignoreVersions })']],
  },
  {
    name: 'an audit of contents looks at keys alone',
    breaks: 'an audit finds what is wrong (I16)',
    file: 'informer/audit.ts',
    edits: [
      [
        "if (item.type === 'put') return !part.isUpToDate(item)",
        "if (item.type === 'put' && !part.isUpToDate(item)) return part.entryOf(key) === undefined",
      ],
    ],
  },
  {
    name: 'an audit forgets the audit request of the source',
    breaks: 'after an audit request an audit comes soon (I16)',
    file: 'informer/audit.ts',
    edits: [['  request(): void {\n    this.#isRequested = true\n', '  request(): void {\n']],
  },
  {
    name: 'audit requests do not wake an audit',
    breaks: 'after an audit request an audit comes soon (I16)',
    file: 'informer/audit.ts',
    edits: [['    this.#isRequested = true\n    this.#wake?.()\n', '    this.#isRequested = true\n']],
  },
  {
    name: 'an audit that could not be done forgets the audit requests',
    breaks: 'after an audit request audits come soon until one could be done (I16)',
    file: 'informer/audit.ts',
    edits: [['      this.#isRequested ||= wasRequested\n', '']],
  },
  {
    name: 'an audit that finds something only says so',
    breaks: 'what an audit finds is repaired by a relist (I16)',
    file: 'informer/audit.ts',
    edits: [["      reflector.relist('the audit found a difference')\n", '']],
  },
  {
    name: 'an audit overlooks what it has read three times of four',
    breaks: 'the first audit after something went wrong finds it (I16)',
    file: 'informer/audit.ts',
    edits: [
      [
        '      const { drift, ...comparison } = await this.#compare(attempt)\n',
        '      const { drift: found, ...comparison } = await this.#compare(attempt)\n      Object(this).nth = (Object(this).nth ?? 0) + 1\n      const drift = Object(this).nth % 4 === 0 ? found : []\n',
      ],
    ],
  },
  {
    name: 'a batch that was validated during a proof is applied after it',
    breaks: 'no earlier batch follows a proof (C35)',
    file: 'reflector/reflector.ts',
    edits: [['      if (this.#isIncluded(batch.version)) return void this.#hooks.onDuplicate?.(batch.version)\n', '']],
    onlyBy: { test: 'unit/informer/audit-proof.test.ts', named: 'is not followed by the earlier state of that batch' },
  },
  {
    name: 'an audit reports a key that a large write is about to release',
    breaks: 'a difference that is found during a large write is not reported (O3)',
    kind: 'set',
    file: 'informer/audit.ts',
    edits: [['this.#host.part.isBusy || !this.#host.isLive()', '!this.#host.isLive()']],
    onlyBy: {
      test: 'unit/informer/audit-of-sets.test.ts',
      named: 'finds nothing in a key that another source loses by a large write during the audit',
    },
  },
  {
    name: 'an audit reports a key that a list has added since it was found absent',
    breaks: 'a difference that is found during a list is not reported (O3)',
    kind: 'set',
    file: 'informer/audit.ts',
    edits: [['(this.#hasListRun || this.#mayBeRepaired)', 'this.#mayBeRepaired']],
    onlyBy: {
      test: 'unit/informer/audit-of-sets.test.ts',
      named: 'finds nothing in a key that a list adds while the audit yields to the event loop',
    },
  },
]
