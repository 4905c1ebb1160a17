import { relative } from 'node:path'
import { root } from '../support/sources.js'
import { files } from './index.js'
import { mutated } from './mutant.js'

/** A written mutant: a file, and its text with the defect in it. */
export interface NamedMutant {
  readonly id: string
  readonly kind: 'own' | 'foreign' | 'adapter'
  readonly file: string
  readonly source: string
}

/** All mutants that were written by hand. */
export function namedMutants(): NamedMutant[] {
  return Array.from(files).flatMap(([from, entries]) => {
    const [, , folder] = from.split('/')
    const kind = folder === 'foreign' ? 'foreign' : folder === 'adapters' ? 'adapter' : 'own'
    return entries.map(({ mutant }) => {
      const { path, source } = mutated(mutant)
      return { id: `${kind}: ${mutant.name}`, kind, file: relative(root, path), source }
    })
  })
}
