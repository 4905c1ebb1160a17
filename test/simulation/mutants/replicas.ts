import type { Mutant } from './mutate.js'

const kind = 'replicas'
const file = 'subscriptions/replicas/membership.ts'

/** Replicas that share the keys of a controller. */
export const mutantsOfReplicas: readonly Mutant[] = [
  {
    name: 'a member claims keys beside members with another mode',
    breaks: 'members with other options run no key beside each other (L14)',
    file,
    edits: [['      return !isEqual && other.members', '      return isEqual && !isEqual && other.members']],
    onlyBy: { test: 'unit/subscriptions/replicas/membership.test.ts', named: 'run no key until the others have left' },
  },
  {
    name: 'a member with a longer lease is removed after the own lease',
    breaks: 'the lease of a member with other options counts as long as it is (L14)',
    file,
    edits: [['leaseMs * EXPIRY_PART)', 'leaseMs * 0)']],
    onlyBy: { test: 'unit/subscriptions/replicas/membership.test.ts', named: 'run no key until the others have left' },
  },
  {
    name: 'a deletion is forgotten while no replica has a lease',
    breaks: 'time without a lease does not count (L9)',
    file: 'subscriptions/replicas/replicated-keys.ts',
    edits: [['() => this.#gate.leasedMs', '() => clock.now()']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/replicated-controller.test.ts',
      named: 'a deletion while the lease store is away is run when it is back',
    },
  },
  {
    name: 'a gained key of watches is not run',
    breaks: 'a gained key without an object runs if watches returns it (L9)',
    file: 'subscriptions/replicas/replicated-keys.ts',
    edits: [['for (const keys of watch.keysOfObjects()) {', 'for (const keys of []) {']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/replicated-controller.test.ts',
      named: 'a key of watches that has no object is run by the next owner',
    },
  },
  {
    name: 'a key without an object that belongs to another replica is forgotten',
    breaks: 'a gained key without an object runs if it was enqueued a short time ago (L9)',
    file: 'subscriptions/replicas/replicated-keys.ts',
    edits: [['if (deletion !== undefined || !isFound)', 'if (deletion !== undefined)']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/replicated-controller.test.ts',
      named: 'a key that was enqueued on another replica is run by the next owner',
    },
  },
  {
    name: 'a member runs what another member claims',
    breaks: 'a key runs only if no other record claims it (exclusive)',
    kind,
    file: 'subscriptions/replicas/ownership.ts',
    edits: [['return this.#owners?.owns(this.#member, hash) === true', 'return false']],
  },
  {
    name: 'a member runs what another member holds',
    breaks: 'a key runs only if no other record holds it (exclusive)',
    kind,
    file: 'subscriptions/replicas/ownership.ts',
    edits: [['return this.#holds.has(key)', 'return false']],
  },
  {
    name: 'a member does not publish what it holds',
    breaks: 'a run of a lost key is published until it settles (exclusive)',
    kind,
    file,
    edits: [['[...this.#running.keys()].filter((key) => !claim.owns(this.#member, hashOf(key)))', '[]']],
  },
  {
    name: 'a lost key still runs until the reply',
    breaks: 'no run of a lost key begins after the request was sent (exclusive)',
    kind,
    file,
    edits: [['    this.#ownership = this.#ownership.within(claim)\n', '']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/membership.test.ts',
      named: 'no run of a key begins after its loss was sent',
    },
  },
  {
    name: 'a gained key runs before the reply',
    breaks: 'a gained key runs only after a read that follows the claim (exclusive)',
    kind,
    file,
    edits: [
      [
        'this.#ownership = this.#ownership.within(claim)',
        'this.#ownership = Ownership.after(this.#options.mode, this.#member, claim, this.#others)',
      ],
    ],
  },
  {
    name: 'a lease begins with its reply',
    breaks: 'a lease begins when its renewal is sent (exclusive)',
    kind,
    file,
    edits: [['this.#leased = sent\n', 'this.#leased = at\n']],
  },
  {
    name: 'a lease does not end while the machine sleeps',
    breaks: 'a lease ends by the wall clock too (exclusive)',
    kind,
    file,
    edits: [['Math.max(at.now - this.#leased.now, at.wall - this.#leased.wall)', 'at.now - this.#leased.now']],
  },
  {
    name: 'the timer for the end of a lease counts no sleep',
    breaks: 'a run stops soon after a sleep of the machine if its lease is over (exclusive)',
    kind,
    file,
    edits: [
      [
        'return Math.min(next, look, now + this.leaseEndsInMs(at))',
        'return Math.min(next, this.#leased.now + this.#stopMs)',
      ],
    ],
    onlyBy: {
      test: 'unit/subscriptions/replicas/membership.test.ts',
      named: 'with a lease, the clocks are read 20 times in it',
    },
  },
  {
    name: 'an owner never stops',
    breaks: 'runs stop when the lease ends (exclusive)',
    kind,
    file,
    edits: [['return this.#leased !== undefined && this.leaseEndsInMs(at) === 0', 'return at.now < -1']],
  },
  {
    name: 'another member expires early',
    breaks: 'a lease expires for others after it ended for its owner (exclusive)',
    kind,
    file,
    edits: [['const EXPIRY_PART = 0.85', 'const EXPIRY_PART = 0.55']],
  },
  {
    name: 'the age that the store names counts',
    breaks: 'the clock of the store does not matter (exclusive)',
    kind,
    file,
    edits: [
      [
        'for (const { member, renewal, leaseMs = 0 } of this.#others) {\n',
        'for (const { member, renewal, ageMs, leaseMs = 0 } of records) {\n',
      ],
      ['{ renewal, at: now, expiryMs })', '{ renewal, at: now - ageMs, expiryMs })'],
    ],
  },
  {
    name: 'an eviction does not look at the renewal',
    breaks: 'a member that renewed is not expired (exclusive)',
    kind,
    file,
    edits: [['if (this.#seen.get(member)?.renewal !== renewal) this', 'if (!this.#seen.has(member)) this']],
  },
  {
    name: 'a new epoch changes nothing',
    breaks: 'no key is gained while a forgotten lease may be valid (exclusive)',
    kind,
    file,
    edits: [["this.#phase !== 'member' || sent.now < this.#settledAt", "this.#phase !== 'member'"]],
  },
  {
    name: 'a new member trusts the first epoch that it sees',
    breaks: 'a new member claims nothing while a forgotten lease may be valid (exclusive)',
    kind,
    file,
    edits: [
      [
        'this.#epoch = { name: view.epoch, firstSeen: at.now }',
        'this.#epoch = { name: view.epoch, firstSeen: this.#epoch === undefined ? -Infinity : at.now }',
      ],
    ],
  },
  {
    name: 'the loss of a record changes nothing',
    breaks: 'LEASE_LOST stops all runs (exclusive)',
    kind,
    file,
    edits: [['      return this.#lost()\n    }\n    // Whether', '      return false\n    }\n    // Whether']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/membership.test.ts',
      named: 'a member whose record is missing stops and joins again',
    },
  },
  {
    name: 'a late reply counts',
    breaks: 'the reply to a request that was given up is ignored (exclusive)',
    kind,
    file,
    edits: [
      [
        '    if (request !== this.#pending) return false\n    if (this.#hasEnded(at)) return this.#lost()\n',
        '    if (this.#hasEnded(at)) return this.#lost()\n',
      ],
    ],
  },
  {
    name: 'a member whose record was removed claims keys at once',
    breaks: 'of two members whose records were removed, one has no key that the other still runs (exclusive)',
    kind,
    file,
    edits: [['      if (this.#leased !== undefined && !this.#hasEnded(at)) this.#epoch = undefined\n', '']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/membership.test.ts',
      named: 'after all records were removed, no member claims keys as long as another may have a lease',
    },
  },
  {
    name: 'a member that lost its lease keeps its name',
    breaks: 'a member joins again as a new one (live)',
    kind,
    file,
    edits: [['    this.#member = newMember(this.#options.random)\n    this.#nextRenewal = 0\n', '']],
  },
  {
    name: 'a member that leaves claims its keys until the end',
    breaks: 'a member that leaves releases its keys at once (live)',
    kind,
    file,
    edits: [["this.#phase !== 'member' || !this.#isClaiming", '!this.#isClaiming']],
    onlyBy: {
      test: 'unit/subscriptions/replicas/membership.test.ts',
      named: 'a member that leaves claims no key, and holds what it runs',
    },
  },
  {
    name: 'no member is evicted',
    breaks: 'the keys of a dead member get another owner (live)',
    kind,
    file,
    edits: [['const evict = expired.map', 'const evict = expired.slice(expired.length).map']],
  },
  {
    name: 'a settled run stays published',
    breaks: 'what a member held is free as soon as the run settles (live)',
    kind,
    file,
    edits: [
      [
        '[...this.#running.keys()].filter((key)',
        '[...(this.#published?.record.holds ?? []), ...this.#running.keys()].filter((key)',
      ],
    ],
  },
  {
    name: 'the first fence stays',
    breaks: 'the fence of a key grows from owner to owner (fenced)',
    kind,
    file,
    edits: [
      ['    this.#fence = view.fence\n', '    this.#fence = this.#fence === -Infinity ? view.fence : this.#fence\n'],
    ],
  },
  {
    name: 'a request is never given up',
    breaks: 'a request has a deadline (live)',
    kind,
    file,
    edits: [['const DEADLINE_PART = 1 / 3', 'const DEADLINE_PART = 1_000']],
  },
]
