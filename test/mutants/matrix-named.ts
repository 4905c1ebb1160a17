import { relative } from 'node:path'
import { etcdMutants } from '../adapter-mutants/etcd.js'
import { fileCacheMutants } from '../adapter-mutants/file-cache.js'
import { httpMutants } from '../adapter-mutants/http.js'
import { kubernetesMutants } from '../adapter-mutants/kubernetes.js'
import { natsMutants } from '../adapter-mutants/nats.js'
import { postgresMutants } from '../adapter-mutants/postgres.js'
import { redisMutants } from '../adapter-mutants/redis.js'
import { shareMutants } from '../adapter-mutants/share.js'
import { foreignMutants } from '../simulation/mutants/foreign/index.js'
import { mutants } from '../simulation/mutants/index.js'
import { type Mutant, mutated, pathOf } from '../simulation/mutants/mutate.js'
import { root } from '../support/sources.js'

/** A written mutant: a file, and its text with the defect in it. */
export interface NamedMutant {
  readonly id: string
  readonly kind: 'own' | 'foreign' | 'adapter'
  readonly file: string
  readonly source: string
}

const adapterMutants: readonly Mutant[] = [
  ...etcdMutants,
  ...fileCacheMutants,
  ...httpMutants,
  ...kubernetesMutants,
  ...natsMutants,
  ...postgresMutants,
  ...redisMutants,
  ...shareMutants,
]

/** All mutants that were written by hand. */
export function namedMutants(): NamedMutant[] {
  const of = (kind: NamedMutant['kind'], all: readonly Mutant[]): NamedMutant[] =>
    all.map((mutant) => ({
      id: `${kind}: ${mutant.name}`,
      kind,
      file: relative(root, pathOf(mutant)),
      source: mutated(mutant),
    }))
  return [...of('own', mutants), ...of('foreign', foreignMutants), ...of('adapter', adapterMutants)]
}
