import type { Change } from '../../src/queue/change.js'
import { changedFields, fieldOf, shownValue } from '../args/fields.js'
import { colors } from '../bundled.js'
import { thousands, withoutControls } from './status-view.js'

/** The most changes that one frame shows. Of more changes only the newest are shown. */
const MAX_LINES = 100

const TIME = 'hh:mm:ss'

/** Fields that change with every write to an object of Kubernetes. */
const NOISE = new Set(['metadata.resourceVersion', 'metadata.managedFields', 'metadata.generation'])

export interface ChangeLinesOptions {
  /** The fields to show of each object; undefined shows what changed. */
  readonly fields: readonly string[] | undefined
  readonly isKubernetes: boolean
}

interface Seen {
  readonly at: number
  readonly change: Change<unknown>
  readonly of: string | undefined
  /** Whether the line before belongs to the same commit. */
  readonly isContinued: boolean
}

/**
 * The changes of mirrors as lines for a terminal: time, `+`, `~` or `-`, key and fields. Of several mirrors a line also
 * names the collection, and the time is only in the first line of a commit.
 */
export class ChangeLines {
  readonly #options: ChangeLinesOptions
  #seen: Seen[] = []
  #skipped = 0

  constructor(options: ChangeLinesOptions) {
    this.#options = options
  }

  /** `of`: the collection, if there are several. */
  add(at: number, change: Change<unknown>, of?: string, isContinued = false): void {
    this.#seen.push({ at, change, of, isContinued })
    if (this.#seen.length < 2 * MAX_LINES) return
    this.#skipped += MAX_LINES
    this.#seen = this.#seen.slice(MAX_LINES)
  }

  /** The lines since the last call. */
  take(): string[] {
    const seen = this.#seen.slice(-MAX_LINES)
    const skipped = this.#skipped + this.#seen.length - seen.length
    this.#seen = []
    this.#skipped = 0
    const lines = seen.map((each) => this.#line(each))
    return skipped === 0 ? lines : [colors.dim(`… ${thousands(skipped)} more changes`), ...lines]
  }

  #line({ at, change, of, isContinued }: Seen): string {
    const time = isContinued ? ' '.repeat(TIME.length) : colors.dim(new Date(at).toTimeString().slice(0, TIME.length))
    const name = of === undefined ? [] : [colors.dim(withoutControls(of))]
    return [time, SIGNS[change.type], ...name, colors.bold(withoutControls(change.key)), ...this.#fields(change)].join(
      ' ',
    )
  }

  #fields(change: Change<unknown>): string[] {
    const { fields, isKubernetes } = this.#options
    const { type, object, previous } = change
    if (fields !== undefined) return fields.map((path) => field(path, object, type === 'update' ? previous : object))
    if (type === 'delete' || (type === 'add' && isKubernetes)) return []
    if (type === 'add') return [colors.dim(withoutControls(shownValue(object)))]
    const changed = changedFields(previous, object)
    const relevant = isKubernetes ? changed.filter((path) => !NOISE.has(path)) : changed
    return (relevant.length > 0 ? relevant : changed).map((path) => field(path, object, previous))
  }
}

const SIGNS = { add: colors.green('+'), update: colors.yellow('~'), delete: colors.red('-') }

/** `name=value`, or `name=old → new`. An object without fields, such as a string, has no name. */
function field(path: string, object: unknown, previous: unknown): string {
  const [before, now] = [previous, object].map((of) =>
    withoutControls(shownValue(path === '' ? of : fieldOf(of, path))),
  )
  const name = path === '' ? '' : colors.dim(`${withoutControls(path)}=`)
  return before === now ? `${name}${now}` : `${name}${before} ${colors.yellow('→')} ${colors.bold(now ?? '')}`
}
