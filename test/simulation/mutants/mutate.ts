import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Kind } from '../runner/schedule.js'
import type { ActionKind } from '../workload/fault-plan.js'

/** One defect, as an edit of the production source. */
export interface Mutant {
  readonly name: string
  /** The promise that it breaks. */
  readonly breaks: string
  /** Relative to src/. */
  readonly file: string
  /** Texts that the file has exactly once, each with its replacement. */
  readonly edits: readonly (readonly [find: string, replace: string])[]
  /** The schedules that have to find it. Default: those of one source. */
  readonly kind?: Kind
  /** In how many schedules the simulator has to kill it. Default 1000. */
  readonly maxSchedules?: number
  /** The test that kills it, if the simulator does not: its file under test/, and its title or a part of it. */
  readonly onlyBy?: { readonly test: string; readonly named: string }
  /** A fault that its schedule needs: without this fault it behaves as the original. */
  readonly needs?: ActionKind
  /** Why it behaves as the original, if it always does. */
  readonly equivalent?: string
}

/** The folder of the production source. */
const src = new URL('../../../src/', import.meta.url)

/** The file that the mutant changes. */
export function pathOf({ file }: Mutant): string {
  return fileURLToPath(new URL(file, src))
}

/** Returns the source of the file with the defect in it. Throws if the file does not have each text exactly once. */
export function mutated({ name, file, edits }: Mutant): string {
  let source = readFileSync(new URL(file, src), 'utf8')
  for (const [find, replace] of edits) {
    const times = source.split(find).length - 1
    if (times !== 1) throw new Error(`mutant "${name}": in src/${file} there is ${times} times, not once: ${find}`)
    source = source.replace(find, () => replace)
  }
  return source
}

/** Makes this thread load the mutant instead of the original from now on. */
export function mutate(mutant: Mutant): void {
  const { href } = new URL(mutant.file, src)
  const source = mutated(mutant)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      return url === href ? { ...loaded, source } : loaded
    },
  })
}
