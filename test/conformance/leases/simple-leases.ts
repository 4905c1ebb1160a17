import {
  type Eviction,
  LeaseLostError,
  type LeaseRecord,
  type LeaseSession,
  type Leases,
  type LeaseView,
  systemClock,
} from '../../../src/adapter.js'

/** Each defect, with the case that must find it. */
export const defects = {
  'creates a missing record': 'a later renewal is refused if the record does not exist, and writes nothing',
  'accepts renewal 0 again': 'renewal 0 is refused if the record exists',
  'accepts a repeated renewal': 'a repeated or lower renewal is refused, and changes nothing',
  'accepts a lower renewal': 'a repeated or lower renewal is refused, and changes nothing',
  'compares renewals as texts': 'renewals are compared as numbers, and may leave numbers out',
  'reads before it writes': 'of two renewals at the same time, at least one sees the other',
  'loses the last member': 'a group may have 50 members',
  'shares records between groups': 'two groups do not see each other',
  'drops holds': 'a view has all fields of the records of other members',
  'changes characters': 'strange characters in keys come back unchanged',
  'evicts whatever the renewal is': 'an eviction leaves a record with another renewal, and ignores a missing one',
  'never evicts': 'an eviction removes a record with this renewal, before the view is read',
  'evicts after the read': 'an eviction removes a record with this renewal, before the view is read',
  'evicts itself': 'an eviction of the member itself has no effect',
  'evicts although the renewal is refused': 'a refused renewal evicts no record',
  'keeps records that leave': 'leave removes the record, and does not fail without one',
  'fails to leave twice': 'leave removes the record, and does not fail without one',
  'repeats fences': 'a fence is greater than those of all requests that ended before',
  'begins fences again': 'a fence grows also after all members have left',
  'has an epoch per session': 'the epoch stays the same, for all members',
  'adds to ages': 'an age is never more than the time since the record was written',
  'knows no ages': 'an age grows while the record is not renewed',
  'calls no listener': 'watch calls its listener after another member joins',
  'ignores removals': 'watch calls its listener after another member leaves',
  'names members that claim keys': 'watch calls its listener after another member changes what it claims',
  'calls listeners without a limit': 'after its signal has aborted, watch calls its listener no more',
  'ignores the signal': 'a renewal whose signal has aborted rejects, and later ones succeed',
  'leaves when it is closed': 'two sessions of one store are two members',
}

export type LeasesDefect = keyof typeof defects

interface Group {
  readonly records: Map<string, LeaseRecord & { readonly writtenAt: number }>
  readonly listeners: Set<(member: string) => void>
  fence: number
}

/** A store in memory, one for each call. It keeps the contract, unless it has a defect. */
export function simpleLeases(defect?: LeasesDefect): (group: string) => Leases {
  const groups = new Map<string, Group>()
  let sessions = 0
  return (name) => {
    const key = defect === 'shares records between groups' ? '' : name
    const group = groups.get(key) ?? { records: new Map(), listeners: new Set(), fence: 0 }
    groups.set(key, group)
    const open = (): LeaseSession => new SimpleSession(group, defect, ++sessions)
    return { name: `simple leases "${name}"`, mode: 'share', leaseMs: 10_000, renewMs: 2_000, open }
  }
}

class SimpleSession implements LeaseSession {
  readonly #group: Group
  readonly #defect: LeasesDefect | undefined
  readonly #number: number
  #member = ''

  constructor(group: Group, defect: LeasesDefect | undefined, number: number) {
    this.#group = group
    this.#defect = defect
    this.#number = number
  }

  async renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView> {
    const { records } = this.#group
    this.#member = record.member
    const early = this.#is('reads before it writes') ? new Map(records) : undefined
    await systemClock.sleep(1)
    if (!this.#is('ignores the signal')) signal.throwIfAborted()
    if (this.#is('evicts although the renewal is refused')) this.#evict(record, evict)
    this.#assertNext(record)
    if (!this.#is('evicts after the read')) this.#evict(record, evict)
    const old = records.get(record.member)
    const holds = this.#holdsOf(record)
    records.set(record.member, { ...record, holds, writtenAt: systemClock.now() })
    const isSame = JSON.stringify([old?.members, old?.holds]) === JSON.stringify([record.members, holds])
    if (old === undefined || !isSame) this.#notify(record.member)
    if (!this.#is('repeats fences') || this.#group.fence === 0) this.#group.fence++
    const read = early?.set(record.member, { ...record, writtenAt: systemClock.now() }) ?? records
    const view = this.#view(read)
    if (this.#is('evicts after the read')) this.#evict(record, evict)
    return view
  }

  async leave(member: string): Promise<void> {
    const { records } = this.#group
    if (this.#is('fails to leave twice') && !records.has(member)) throw new Error('no record')
    if (!this.#is('keeps records that leave') && records.delete(member) && !this.#is('ignores removals'))
      this.#notify(member)
    if (this.#is('begins fences again') && records.size === 0) this.#group.fence = 0
  }

  watch(changed: (released?: string) => void, signal: AbortSignal): void {
    const { listeners } = this.#group
    const listener = (member: string): void => {
      if (member !== this.#member) changed(this.#is('names members that claim keys') ? member : undefined)
    }
    listeners.add(listener)
    if (!this.#is('calls listeners without a limit')) signal.addEventListener('abort', () => listeners.delete(listener))
  }

  async close(): Promise<void> {
    if (this.#is('leaves when it is closed')) this.#group.records.delete(this.#member)
  }

  #is(defect: LeasesDefect): boolean {
    return this.#defect === defect
  }

  #assertNext({ member, renewal }: LeaseRecord): void {
    const found = this.#group.records.get(member)?.renewal
    const isLost = found === undefined ? renewal > 0 : renewal === 0 || !this.#isLater(renewal, found)
    const isAccepted =
      (this.#is('creates a missing record') && found === undefined) ||
      (this.#is('accepts renewal 0 again') && renewal === 0) ||
      (this.#is('accepts a repeated renewal') && renewal === found && renewal > 0) ||
      (this.#is('accepts a lower renewal') && found !== undefined && renewal < found && renewal > 0)
    if (isLost && !isAccepted) throw new LeaseLostError(`${member} has renewal ${found}`)
  }

  #isLater(renewal: number, found: number): boolean {
    return this.#is('compares renewals as texts') ? String(renewal) > String(found) : renewal > found
  }

  #evict(record: LeaseRecord, evict: readonly Eviction[]): void {
    const { records } = this.#group
    if (this.#is('never evicts')) return
    for (const { member, renewal } of evict) {
      if (member === record.member && !this.#is('evicts itself')) continue
      const found = records.get(member)
      if (found === undefined || (found.renewal !== renewal && !this.#is('evicts whatever the renewal is'))) continue
      records.delete(member)
      if (!this.#is('ignores removals')) this.#notify(member)
    }
    if (this.#is('evicts itself') && evict.some(({ member }) => member === record.member))
      queueMicrotask(() => records.delete(record.member))
  }

  #holdsOf({ holds }: LeaseRecord): readonly string[] {
    if (this.#is('drops holds')) return []
    return this.#is('changes characters') ? holds.map((key) => Buffer.from(key).toString()) : holds
  }

  #notify(member: string): void {
    if (!this.#is('calls no listener')) for (const listener of this.#group.listeners) listener(member)
  }

  #view(records: Group['records']): LeaseView {
    const now = systemClock.now()
    const all = [...records.values()].map(({ writtenAt, ...record }) => ({
      ...record,
      ageMs: this.#is('knows no ages') ? 0 : now - writtenAt + (this.#is('adds to ages') ? 1_000 : 0),
    }))
    const isShort = this.#is('loses the last member') && all.length >= 50
    return {
      fence: this.#group.fence,
      epoch: this.#is('has an epoch per session') ? String(this.#number) : 'one',
      records: isShort ? all.slice(0, -1) : all,
    }
  }
}
