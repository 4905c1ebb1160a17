import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { httpCollections, serveHttp } from '../../serving/http/index.js'
import { createInformer, derive, groupInformers, type Informer, type ListerWatcher } from '../../src/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'

export type Account = { readonly id: number; readonly amount: number }

export const ACCOUNTS = 20
/** What each account has at first. */
export const AMOUNT = 100
export const COLLECTIONS = ['savings', 'checking'] as const
export type Collection = (typeof COLLECTIONS)[number]
const SUM = COLLECTIONS.length * ACCOUNTS * AMOUNT
/** Longer with an environment variable: ten minutes of the nightly run. */
const SECONDS = Number(process.env['LISTWATCH_BANK_SECONDS'] ?? 8)
export const BANK_TIMEOUT_MS = SECONDS * 1_000 + 120_000

/** A transfer of 1 between accounts of two collections. */
export interface Transfer {
  readonly from: Collection
  readonly to: Collection
  readonly debited: number
  readonly credited: number
}

/** The two collections in a backend. Account `id` is an `Account`. */
export interface Bank {
  /** A source of a collection in one history; the same one at each call with its name. */
  together(collection: Collection): ListerWatcher<Account>
  /** A source of a collection that follows it alone. */
  apart(collection: Collection): ListerWatcher<Account>
  /** The key of an account in the store of `checking`. Default: that of the same account in `savings`. */
  keyOf?(id: number): string
  /** Returns a writer over a connection of its own, which returns the mark of a transfer; undefined if it failed. */
  writer(): Promise<(transfer: Transfer) => Promise<string | undefined>>
  /** The faults, one after another; those that throw were not possible at that moment. */
  readonly faults: readonly (() => Promise<unknown>)[]
  /** The accounts of a collection in the order of their ids. */
  rows(collection: Collection): Promise<readonly unknown[]>
}

/** The `writer` of a bank of SQL tables. `open`: its client takes several statements a query. `commit`: returns the mark. */
export function sqlWriter<C extends { query(sql: string): Promise<unknown> }>(
  open: () => Promise<C>,
  commit: (client: C) => Promise<string>,
): Bank['writer'] {
  return async () => {
    let client = await open()
    const change = (table: string, sign: string, id: number): string =>
      `UPDATE ${table} SET amount = amount ${sign} 1 WHERE id = ${id};`
    return async ({ from, to, debited, credited }) => {
      try {
        // One request, so that four writers make 500 transfers a second.
        await client.query(`BEGIN; ${change(from, '-', debited)} ${change(to, '+', credited)}`)
        return await commit(client)
      } catch {
        // A deadlock, or the server was killed.
        await client.query('ROLLBACK').catch(async () => {
          client = await open().catch(() => client)
        })
        return undefined
      }
    }
  }
}

/** Counts the looks, and those that see a sum that the bank never had. */
function watched(informers: readonly Informer<Account, object>[]) {
  const counts = { looks: 0, wrong: 0 }
  const sumOf = (lists: readonly { list(): readonly Account[] }[]): number =>
    lists.reduce((sum, each) => each.list().reduce((all, { amount }) => all + amount, sum), 0)
  const look = (): void => {
    if (informers.some(({ status }) => !status.isSynced)) return
    counts.looks++
    const pinned = informers.map((each) => each.snapshot())
    if (sumOf(informers) !== SUM || sumOf(pinned) !== SUM) counts.wrong++
    for (const each of pinned) each[Symbol.dispose]()
  }
  for (const informer of informers) informer.subscribe({ update: look, add: look, delete: look })
  return { counts, look }
}

/**
 * Four writers make transfers between two collections while the faults happen. All readers, snapshots, handlers, views and
 * followers of one history must see a constant sum. Sources that follow the collections alone must see others, or the judge cannot fail.
 */
export async function judgeBank(
  bank: Bank,
  onTestFinished: (stop: () => Promise<void>) => void,
  pauseMs = 4,
  seconds: number = SECONDS,
): Promise<void> {
  const random = new SeededRandom(1)
  const started = (source: (collection: Collection) => ListerWatcher<Account>) =>
    COLLECTIONS.map((collection) => createInformer<Account, object, Account>({ source: source(collection) }))
  const together = started((collection) => bank.together(collection))
  const apart = started((collection) => bank.apart(collection))
  const [savings, checking] = together
  if (savings === undefined || checking === undefined) throw new Error('there are two collections')
  const both = derive({
    from: savings,
    reads: [checking],
    each: ({ id, amount }, key) => amount + (checking.get(bank.keyOf?.(id) ?? key)?.amount ?? 0),
  })
  const mirror = serveHttp({ savings, checking })
  const fetch = (url: string, init: RequestInit): Promise<Response> => mirror(new Request(url, init))
  const remote = httpCollections({ url: 'http://bank.test', fetch })
  const followers = started((collection) => remote.collection(collection))
  const group = groupInformers([...together, ...apart, both, ...followers])
  const errors: string[] = []
  for (const each of [...together, ...apart, ...followers]) each.on('error', ({ message }) => void errors.push(message))
  onTestFinished(async () => {
    await mirror.close()
    await group.stop()
  })
  await group.start().synced({ timeoutMs: 60_000 })
  const [ours, theirs, remotely] = [watched(together), watched(apart), watched(followers)]
  let isOver = false
  let transfers = 0
  const account = (): number => 1 + Math.floor(random.next() * ACCOUNTS)
  const write = async (): Promise<void> => {
    const transfer = await bank.writer()
    for (; !isOver; await sleep(pauseMs)) {
      const [from, to] = random.next() < 0.5 ? COLLECTIONS : (['checking', 'savings'] as const)
      if ((await transfer({ from, to, debited: account(), credited: account() })) !== undefined) transfers++
    }
  }
  const fail = async (): Promise<void> => {
    for (let fault = 0; !isOver; fault++) {
      await sleep(700)
      await bank.faults[fault % bank.faults.length]?.().catch(() => {})
    }
  }
  const read = async (): Promise<void> => {
    for (; !isOver; await sleep(1)) {
      ours.look()
      theirs.look()
      remotely.look()
      // The view changes in the same step.
      const sum = both.list().reduce((all, each) => all + each, 0)
      if (sum !== SUM) ours.counts.wrong++
    }
  }
  const running = Promise.all([write(), write(), write(), write(), fail(), read()])
  await sleep(seconds * 1_000)
  isOver = true
  await running
  const mark = await (await bank.writer())({ from: 'savings', to: 'checking', debited: 1, credited: 1 })
  if (mark === undefined) throw new Error('the last transfer failed')
  await savings.waitFor(mark, { timeoutMs: 60_000 })
  const relists = savings.status.relists + checking.status.relists
  if (SECONDS > 60)
    console.log({ transfers, relists, errors: errors.length }, ours.counts, theirs.counts, remotely.counts)
  for (const [collection, informer] of [
    ['savings', savings],
    ['checking', checking],
  ] as const) {
    const shown = informer.list().map(({ id, amount }) => ({ id, amount }))
    expect(shown.sort((a, b) => a.id - b.id)).toEqual(await bank.rows(collection))
  }
  for (const { looks, wrong } of [ours.counts, remotely.counts]) {
    expect(wrong).toBe(0)
    expect(looks).toBeGreaterThan(100)
  }
  expect(theirs.counts.wrong).toBeGreaterThan(0)
  expect([relists, errors.length, transfers].every((count) => count > 0)).toBe(true)
}
