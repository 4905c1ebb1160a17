import type { Mutant } from './mutate.js'

/** By how many hours the clock of the machine was set since `began`; 0 if it was not set. */
const SET_BY = 'const setBy = () => 3_600_000 * Math.round((Date.now() - began) / 3_600_000)'

/** Reading a source: opens, versions, silence. */
export const mutantsOfReflector: readonly Mutant[] = [
  {
    name: 'no list floor',
    breaks: 'an event that the store includes already changes nothing, for absent keys too (I6)',
    file: 'reflector/reflector.ts',
    edits: [['return this.#source.hasReached?.(shown, version) === true', 'return false']],
  },
  {
    name: 'a stale list is taken',
    breaks: 'a list older than what was shown is refused (I11)',
    file: 'reflector/reflector.ts',
    edits: [['if (this.#source.hasReached(listed, shown)) return', 'return']],
  },
  {
    name: 'the resume version runs ahead of the sink',
    breaks: 'the version moves after the sink has accepted the batch (I10)',
    file: 'reflector/reflector.ts',
    edits: [
      [
        'await this.#sink.accepted(attempt, () => this.#sink.apply(taken), accepted)',
        'accepted()\n    await this.#sink.accepted(attempt, () => this.#sink.apply(taken), accepted)',
      ],
    ],
  },
  {
    name: 'the resume version stays at the version of the list',
    breaks: 'after a break the watch resumes at its last event: nothing is emitted twice (I10)',
    file: 'reflector/reflector.ts',
    edits: [['    this.#version = batch.version\n', '']],
  },
  {
    name: 'the version of a list counts before the sink has it',
    breaks: 'the version moves after the sink has accepted the list (I10)',
    file: 'reflector/reflector.ts',
    edits: [
      [
        '      this.#assertFloor(version, ignoreVersions)\n',
        '      this.#assertFloor(version, ignoreVersions)\n      this.#version = version\n',
      ],
    ],
  },
  {
    name: 'a repeated batch is taken event by event',
    breaks: 'the states of a key never go back (I3)',
    file: 'reflector/reflector.ts',
    edits: [
      [
        'const events = batch.version === this.#version ? outcomeOf(valid) : valid',
        'const events = outcomeOf.length > 1 ? outcomeOf(valid) : valid',
      ],
    ],
    maxSchedules: 5_000,
  },
  {
    name: 'a batch is split on its way to the sink',
    breaks: 'no read sees a part of a batch (I8)',
    file: 'reflector/reflector.ts',
    edits: [
      [
        'await this.#sink.accepted(attempt, () => this.#sink.apply(taken), accepted)',
        'for (const event of taken.events) await this.#sink.accepted(attempt, () => this.#sink.apply({ ...taken, events: [event] }), accepted)\n    if (taken.events.length === 0) await this.#sink.accepted(attempt, () => this.#sink.apply(taken), accepted)',
      ],
    ],
  },
  {
    name: 'the half of a broken list is used again',
    breaks: 'a list that breaks off leaves nothing behind (I8)',
    file: 'reflector/reflector.ts',
    edits: [
      [
        'const replacement = this.#sink.replace({ ignoreVersions: true })',
        'const halves = this as unknown as { half?: ListTransaction<T> | undefined }\n    halves.half ??= this.#sink.replace({ ignoreVersions: true })\n    const replacement = halves.half',
      ],
      ['hasCommitBegun = true', 'hasCommitBegun = true\n      halves.half = undefined'],
    ],
  },
  {
    name: 'a silent watch is never given up',
    breaks: 'a peer that sends nothing for twice its heartbeat and 5 s is dead',
    file: 'reflector/reflector.ts',
    edits: [["void attempt.watchdog(idleMs, () => new SourceError(silent, { code: 'UNAVAILABLE' }))", 'void silent']],
  },
  {
    name: 'a silent list is never given up',
    breaks: 'a list that brings no page for 30 s is UNAVAILABLE',
    file: 'reflector/read-pages.ts',
    edits: [
      ["void attempt.watchdog(LIST_STALL_MS, () => new SourceError(silent, { code: 'UNAVAILABLE' }))", 'void silent'],
    ],
  },
  {
    name: 'an attempt leaves its timers behind',
    breaks: 'after stop() there is no timer (I15)',
    file: 'reflector/reflector.ts',
    edits: [['    this.#attempt = undefined\n    attempt.abort(ABORTED)', '    this.#attempt = undefined']],
  },
  {
    name: 'the spacing of opens never grows',
    breaks: 'opens are spaced, twice as far after each',
    file: 'reflector/reflector-state.ts',
    edits: [['spacing: isImmediate ? state.spacing : grown(state.spacing)', 'spacing: state.spacing']],
  },
  {
    name: 'the spacing is reset by the wall clock',
    breaks: 'only a watch that was live for 1 s resets the spacing, by monotonic time',
    needs: 'clock jump',
    file: 'reflector/reflector-state.ts',
    edits: [
      ["name: 'live', liveAt: at,", "name: 'live', liveAt: at + setBy(),"],
      ['at - state.liveAt >= STABLE_MS', `at + setBy() - state.liveAt >= STABLE_MS`],
      [
        '/** A watch that was live for 1 s shows',
        `const began = Date.now()\n${SET_BY}\n/** A watch that was live for 1 s shows`,
      ],
    ],
  },
  {
    name: 'a delay is as long as the wall clock says',
    breaks: 'a change of the wall clock changes nothing',
    needs: 'clock jump',
    file: 'reflector/reflector.ts',
    edits: [
      [
        '    await attempt.race(this.#clock.sleep(until - this.#clock.now(), attempt.signal))\n',
        `    const began = Date.now()
    ${SET_BY}
    for (let leftMs; (leftMs = until - this.#clock.now() - setBy()) > 0; )
      await attempt.race(this.#clock.sleep(Math.min(leftMs, 1_000), attempt.signal))
`,
      ],
    ],
  },
  {
    name: 'the spacing is never reset',
    breaks: 'a watch that was live for 1 s resets the spacing',
    file: 'reflector/reflector-state.ts',
    edits: [['spacing: isStable ? reset(state.spacing) : state.spacing', 'spacing: state.spacing']],
  },
  {
    name: 'every reconnect comes at once',
    breaks: 'of the reconnects without a delay there is at most one in 10 s',
    file: 'reflector/reflector-state.ts',
    edits: [['worked && isRare && ', 'worked && ']],
  },
  {
    name: 'a reopened watch that fails is reopened at once',
    breaks: 'only the first reconnect comes at once, the second one is delayed',
    file: 'reflector/reflector-state.ts',
    edits: [["(state.name === 'live' || !state.isReopened)", 'true']],
  },
  {
    name: 'the first reconnect waits as after any error',
    breaks: 'the first reconnect after a break comes at once',
    file: 'reflector/reflector-state.ts',
    edits: [
      [
        'isFirstBreak(state, input) ? reconnectNow(state, again, input) : waitToOpen(state, again, input)',
        'waitToOpen(state, again, input)',
      ],
    ],
  },
  {
    name: 'no delay after an error',
    breaks: 'nothing opens before 0.4 to 0.8 s after an error',
    file: 'reflector/reflector-state.ts',
    edits: [['at + ERROR_DELAY_MS * (0.5 + chance[1] / 2)', 'at']],
  },
  {
    name: 'the retryAfterMs of the source is ignored',
    breaks: 'nothing opens before the error and retryAfterMs',
    file: 'reflector/reflector-state.ts',
    edits: [['at + (input.error.retryAfterMs ?? 0)', 'at']],
  },
  {
    name: 'every break is followed by a list',
    breaks: 'a break whose history is still there needs no relist',
    file: 'reflector/reflector-state.ts',
    edits: [
      [
        'isFirstBreak(state, input) ? reconnectNow(state, again, input) : waitToOpen(state, again, input)',
        '[{ ...again, next: list }].map((next) => isFirstBreak(state, input) ? reconnectNow(state, next, input) : waitToOpen(state, next, input))[0] as Step',
      ],
    ],
  },
  {
    name: 'an expired watch is opened again',
    breaks: 'an expired version is followed by a list',
    file: 'reflector/reflector-state.ts',
    edits: [
      [
        "case 'VERSION_EXPIRED':\n      return waitToOpen(state, { ...again, next: list }, input)",
        "case 'VERSION_EXPIRED':\n      return waitToOpen(state, again, input)",
      ],
    ],
  },
  {
    name: 'a new epoch is compared by versions',
    breaks: 'after a change of epoch no version is trusted',
    file: 'reflector/reflector-state.ts',
    edits: [['next: { ...list, ignoreVersions: true }', 'next: list']],
  },
  {
    name: 'a relist that is requested during a list is forgotten',
    breaks: 'relist() resolves after a list that began after the call',
    file: 'reflector/reflector-state.ts',
    edits: [['isListWanted: true })', 'isListWanted: false })']],
  },
  {
    name: 'silence is measured by the wall clock',
    breaks: 'a change of the wall clock changes nothing',
    needs: 'clock jump',
    file: 'reflector/attempt.ts',
    edits: [
      ['  #yieldedAt: number\n', '  #yieldedAt: number\n  readonly #began = Date.now()\n'],
      [
        'this.#contactAt = this.#clock.now()',
        'this.#contactAt = this.#clock.now() + 60_000 * Math.round((Date.now() - this.#began) / 60_000)',
      ],
    ],
  },
  {
    name: 'the events before the first invalid event of a large batch are lost',
    breaks: 'the valid events of a batch are applied',
    file: 'reflector/event-validation.ts',
    edits: [['good ??= events.slice(0, at)', 'good ??= []']],
    onlyBy: { test: 'unit/reflector/reflector-protocol.test.ts', named: 'in the middle of a slice' },
  },
  {
    name: 'an event that is not understood ends the stream',
    breaks: 'an event that is not understood is left out',
    file: 'reflector/event-validation.ts',
    edits: [
      [
        '        this.#reportUnknown(type)\n',
        "        throw new SourceError('not understood', { code: 'PROTOCOL' })\n",
      ],
    ],
  },
  {
    name: 'the source is not read again after an event was left out',
    breaks: 'the source is read soon after an event was left out',
    file: 'reflector/incomplete-list-repair.ts',
    edits: [['        this.#relist(reason)\n', '']],
  },
]
