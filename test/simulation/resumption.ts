import type { Version } from '../../src/version.js'
import type { ListStream } from './list-stream.js'
import { nowhere, Progress } from './progress.js'
import type { Stage } from './stage.js'
import type { WatchStream } from './watch-stream.js'

/**
 * Judges from where a reflector goes on: from what its sink accepted last, neither more, which nobody would ever be told,
 * nor less (I10); and that a list is told what was shown, which it may not fall behind (I11).
 */
export class Resumption {
  readonly #stage: Stage
  /** The version of what the sink accepted last. */
  readonly #accepted: () => Version | undefined
  readonly #progress: Progress

  constructor(stage: Stage, accepted: () => Version | undefined) {
    this.#stage = stage
    this.#accepted = accepted
    this.#progress = new Progress(stage, 'the resume point')
  }

  opened(stream: ListStream | WatchStream): void {
    const accepted = this.#accepted()
    if (stream.kind === 'watch') {
      this.#progress.at(stream.after)
      if (stream.after !== accepted)
        this.#stage.violate('I10', `a watch begins after ${stream.after}, and the sink is at ${accepted ?? nowhere}`)
    } else if (stream.floor !== undefined && stream.floor !== accepted)
      this.#stage.violate('I11', `a list is told of ${stream.floor}, and the sink is at ${accepted ?? nowhere}`)
  }
}
