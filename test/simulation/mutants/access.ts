import type { Mutant } from './mutate.js'

/** The objects of a source when access to it is lost. */
export const mutantsOfAccess: readonly Mutant[] = [
  {
    name: 'the objects stay though access was lost',
    breaks: "with onAccessLost: 'clear' the objects of a source that refuses access are deleted",
    file: 'informer/source-runner.ts',
    edits: [['      this.part.clear()?.catch(failed)\n', '']],
  },
  {
    name: 'the watch continues after access was lost',
    breaks: 'after access was lost and the objects were deleted a list comes next',
    file: 'informer/source-runner.ts',
    edits: [['    this.reflector.relist(error.message)\n', '']],
  },
  {
    name: 'the objects go though they are to be kept',
    breaks: "with onAccessLost: 'keep' the objects stay",
    file: 'informer/source-runner.ts',
    edits: [["error.code === 'UNAUTHORIZED' && this.#host.onAccessLost === 'clear'", "error.code === 'UNAUTHORIZED'"]],
  },
  {
    name: 'it is ready while the objects of a source are deleted',
    breaks: 'health() is not ready from the loss of access to the next list',
    file: 'informer/informer-status.ts',
    edits: [['this.#synced.isOpen && !isStale && cleared === undefined && ', 'isSynced && !isStale && ']],
  },
  {
    name: 'over a set the objects of another source go when access is lost',
    breaks: 'a source that refuses access changes nothing of the others',
    file: 'store/partition.ts',
    kind: 'set',
    edits: [
      [
        "    yield* transaction.removeAll(() => true, origin === 'relist' ? 'source-removed' : 'unknown')",
        "    if (origin === 'relist') yield* transaction.removeAll(() => true)\n    else for (const key of this.#writer.store.keys()) transaction.remove(key, 'unknown')",
      ],
    ],
  },
  {
    name: 'the list after access was lost resolves no wait of an idle subscription',
    breaks: 'a wait of a subscription resolves once its version is handled, also if access was lost in between (I1)',
    file: 'informer/commit-routing.ts',
    edits: [['    if (endsWaits) for (const feed of router.feeds) feed.routed()\n', '']],
    onlyBy: { test: 'unit/informer/access-lost-waits.test.ts', named: 'resolves with the next list' },
  },
]
