import { filesUnder, textOf } from '../support/sources.js'
import { type Entry, entriesOf } from './format.js'
import type { Mutant, NamedTest } from './mutant.js'

/** The files of mutants, with their entries. */
export const files: ReadonlyMap<string, readonly Entry[]> = new Map(
  filesUnder(['test/mutants'], '.mutants').map((path) => [path, entriesOf(path, textOf(path))]),
)

function mutantsOf(isWanted: (path: string) => boolean): readonly Mutant[] {
  return Array.from(files).flatMap(([path, entries]) => (isWanted(path) ? entries.map(({ mutant }) => mutant) : []))
}

function isInVirtualTime({ test }: NamedTest): boolean {
  return /^(unit|property)\//.test(test)
}

export const allMutants: readonly Mutant[] = mutantsOf(() => true)

/** Defects by authors who had read SPEC.md and src/, but no test; in three rounds, each by other authors. */
export const foreignMutants: readonly Mutant[] = mutantsOf((path) => path.startsWith('test/mutants/foreign/'))

/** Defects of an adapter, a server or a cache, each with the test that has to fail because of it. It runs in real time. */
export const adapterMutants: readonly (Mutant & Required<Pick<Mutant, 'onlyBy'>>)[] = mutantsOf((path) =>
  /^test\/mutants\/(adapters|serving|caches)\//.test(path),
).flatMap((mutant) => {
  const { onlyBy } = mutant
  return onlyBy === undefined || isInVirtualTime(onlyBy) ? [] : [{ ...mutant, onlyBy }]
})

/** Defects of our own that the simulator has to find, or a test in virtual time that they name. */
export const mutants: readonly Mutant[] = mutantsOf((path) => !path.startsWith('test/mutants/foreign/')).filter(
  ({ onlyBy }) => onlyBy === undefined || isInVirtualTime(onlyBy),
)
