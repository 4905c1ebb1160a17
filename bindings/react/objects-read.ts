import type { CommitSignal } from '../../src/informer/internals.js'
import { structuralEqual } from '../../src/store/structural-equal.js'
import { signalOf } from './signal-of.js'

type Objects = readonly unknown[]
type ReadIndex = (...args: never[]) => Objects

/** An informer, or an index and its arguments. */
export type ReadArguments = readonly [of: { list(): Objects } | ReadIndex, ...args: readonly unknown[]]

/** What one component reads: its result is the same array until its content differs. */
export class ObjectsRead {
  readonly listen: CommitSignal['listen']
  readonly #args: ReadArguments
  readonly #signal: CommitSignal
  /** The number of commits at the last read. */
  #readAt = -1
  #objects: Objects = []

  constructor(args: ReadArguments) {
    this.#args = args
    this.#signal = signalOf('useObjects', args[0])
    this.listen = this.#signal.listen
  }

  /** Whether it is the read of these arguments. */
  isOf([of, ...args]: ReadArguments): boolean {
    const [own, ...ownArgs] = this.#args
    return own === of && structuralEqual(ownArgs, args)
  }

  /** Returns the objects that readers of the store see now. */
  readonly current = (): Objects => {
    const { commits } = this.#signal
    if (this.#readAt === commits) return this.#objects
    const [of, ...args] = this.#args
    const objects: Objects = typeof of === 'function' ? Reflect.apply(of, undefined, args) : of.list()
    if (!hasSameMembers(this.#objects, objects)) this.#objects = objects
    this.#readAt = commits
    return this.#objects
  }
}

function hasSameMembers(a: Objects, b: Objects): boolean {
  return a === b || (a.length === b.length && a.every((each, at) => Object.is(each, b[at])))
}
