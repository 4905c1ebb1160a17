import type { ListContext, ListPage, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { CheckedSource } from '../support/checked-source.js'

/** Stands between a source of Kubernetes and its reader, and compares the events with the promises of a watch. */
export class Witness<T> extends CheckedSource<T> {
  /** The source has delivered everything up to this version. */
  #reached = 0n

  override async *list(context: ListContext): AsyncIterable<ListPage<T>> {
    const delivered = new Map<string, Version | undefined>()
    for await (const page of super.list(context)) {
      for (const event of page.events) {
        if (event.type === 'put') delivered.set(event.key, event.version)
        else if (event.type === 'delete') delivered.delete(event.key)
      }
      if (page.version !== undefined) this.#judgeList(delivered, page.version)
      yield page
    }
  }

  /** An audit lists while the watch is open, and may be ahead of it. */
  #judgeList(delivered: ReadonlyMap<string, Version | undefined>, version: Version): void {
    for (const [key, at] of delivered)
      if (at === undefined || numberOf(at) > numberOf(version))
        this.flaw(`${key} is listed at ${at}, beyond the list, ${version}`)
  }

  override async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    this.#reached = numberOf(context.after)
    for await (const batch of super.watch(context)) {
      this.#judge(batch)
      yield batch
    }
  }

  #judge({ events, version }: WatchBatch<T>): void {
    const reached = numberOf(version)
    let last = this.#reached
    for (const event of events) {
      if (event.type === 'replace') throw new Error('a source of Kubernetes replaces nothing')
      if (event.version === undefined) continue
      const at = numberOf(event.version)
      // Objects that expire together are deleted in one revision, and a delete may be repeated.
      if (at < last || (at === last && event.type !== 'delete'))
        this.flaw(`${event.type} ${event.key} at ${at} is delivered after ${last}`)
      if (at > reached) this.flaw(`${event.type} ${event.key} at ${at} is beyond its batch, ${reached}`)
      last = at
    }
    if (reached < this.#reached) this.flaw(`the version went from ${this.#reached} back to ${reached}`)
    this.#reached = reached
  }
}

function numberOf(version: Version): bigint {
  return BigInt(/(\d+)$/.exec(version)?.[1] ?? -1)
}
