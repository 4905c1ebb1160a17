import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { CountingClock } from '../postgres-faults/clocks.js'
import { HandlerHistory } from '../postgres-faults/handler-history.js'
import type { KubeObject } from '../servers/kube-client.js'
import { Witness } from './witness.js'

/** One informer of a source, a witness between them, and what its subscription knows. */
export class Follower {
  readonly informer: Informer<KubeObject>
  readonly witness: Witness<KubeObject>
  readonly delivered = new HandlerHistory<KubeObject>()
  readonly errors: SourceError[] = []

  constructor(source: ListerWatcher<KubeObject>, clock: CountingClock, audit: false | { readonly periodMs: number }) {
    this.witness = new Witness(source)
    this.informer = createInformer({ source: this.witness, clock, audit })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.subscribe(this.delivered.handlers)
  }

  /** Whether the subscription knows what the informer has. */
  get isTold(): boolean {
    return (
      this.delivered.objects.size === this.informer.size &&
      [...this.informer.entries()].every(([key, object]) => Object.is(this.delivered.objects.get(key), object))
    )
  }

  /** What was promised and not kept. */
  get flaws(): readonly string[] {
    return [...this.delivered.violations, ...this.witness.flaws]
  }

  /** The keys of which it does not say what is `wanted`. */
  differences(wanted: ReadonlyMap<string, string>): string[] {
    const left = new Set(wanted.keys())
    const wrong: string[] = []
    for (const [key, object] of this.informer.entries()) {
      if (wanted.get(key) !== seen(object)) wrong.push(key)
      left.delete(key)
    }
    return [...wrong, ...left]
  }

  /** What happened, for those who must find out why. */
  get story(): string {
    const { state, reason } = this.informer.status
    const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
    return `it is ${state} (${reason}) at ${this.informer.version}; ${errors.join('; ')}`
  }
}

/** All that matters of an object; its version stands for the rest, within one history. */
export function seen({ metadata, data, spec }: KubeObject): string {
  return JSON.stringify([metadata.uid, metadata.resourceVersion, metadata.labels, data, spec])
}
