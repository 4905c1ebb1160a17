import { setTimeout as sleep } from 'node:timers/promises'
import {
  type KubernetesSource,
  type KubernetesSourceOptions,
  kubernetesSource,
} from '../../adapters/kubernetes/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { HandlerHistory } from '../postgres-faults/handler-history.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes } from './fake.js'
import type { FakeObject } from './fake-collection.js'

export interface MirrorOptions {
  /** Called before the first request to the fake. */
  readonly prepare?: (fake: FakeKubernetes) => void
  readonly source?: Partial<KubernetesSourceOptions>
  /** Default: one that stays the same. */
  readonly configOf?: (fake: FakeKubernetes) => KubernetesSourceOptions['kubeConfig']
  readonly audit?: { readonly periodMs: number }
}

/** A mirror of a fake. Its time stands still but for what a test lets pass: no deadline races with a slow machine. */
export class Mirror implements AsyncDisposable {
  readonly fake: FakeKubernetes
  readonly clock = new VirtualClock()
  readonly source: KubernetesSource<FakeObject>
  readonly informer: Informer<FakeObject>
  readonly delivered = new HandlerHistory<FakeObject>()
  readonly errors: SourceError[] = []

  private constructor(fake: FakeKubernetes, { source, audit, configOf }: MirrorOptions) {
    this.fake = fake
    this.source = kubernetesSource<FakeObject>({
      kubeConfig: configOf?.(fake) ?? fake.config(),
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'default',
      // A test counts only its own requests.
      probeMs: false,
      ...source,
    })
    this.informer = createInformer({
      source: this.source,
      clock: this.clock,
      audit: audit ?? false,
    })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.subscribe(this.delivered.handlers)
  }

  static async open(options: MirrorOptions = {}): Promise<Mirror> {
    const fake = await FakeKubernetes.start()
    options.prepare?.(fake)
    return new Mirror(fake, options)
  }

  /** Runs a test on a mirror of its own; at its end the mirror stops, and leaves no timer and no connection. */
  static async with(options: MirrorOptions, act: (mirror: Mirror) => Promise<void>): Promise<void> {
    await using mirror = await Mirror.open(options)
    await act(mirror)
    await mirror.informer.stop()
    const isGone = (): boolean => mirror.clock.sleeping === 0 && mirror.fake.connections === 0
    await waitUntil('nothing to be left', isGone).catch((error: unknown) => {
      const left = `${mirror.fake.connections} connections, ${mirror.clock.sleeping} timers`
      throw new Error(`${left} are left after the stop`, { cause: error })
    })
    if (mirror.delivered.violations.length > 0) throw new Error(mirror.delivered.violations.join('; '))
  }

  /** Another informer over the same source, begun. */
  beside(): Informer<FakeObject> {
    const informer = createInformer({ source: this.source, clock: this.clock, audit: false })
    informer.on('error', () => {})
    return informer.start()
  }

  get relists(): number {
    return this.informer.status.relists
  }

  /** What it has, as `name=n`, sorted. */
  get contents(): string[] {
    return contentsOf(this.informer.list())
  }

  /** Whether it includes everything up to this version of the fake's. */
  hasReached(version: string): boolean {
    return Number(this.informer.version) >= Number(version)
  }

  /** The first list is in, and the watch is open. */
  async live(): Promise<void> {
    this.informer.start()
    await this.until(
      'the watch to be open',
      () => this.informer.status.isSynced && this.fake.collection.watching.length > 0,
    )
  }

  /** The mirror is what the fake has, and so is what the subscription knows. */
  async healed(): Promise<void> {
    const wanted = (): string => contentsOf(this.fake.collection.at()).join()
    await this.until('the mirror to be what the server has', () => this.contents.join() === wanted())
    await this.until(
      'the subscription to know it',
      () => contentsOf([...this.delivered.objects.values()]).join() === wanted(),
    )
  }

  /** Waits for a condition. Time passes only while everything else waits for time: between attempts. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const isNow = async (): Promise<boolean> => {
      if (isSo()) return true
      // A delay of 0 ms ends only when the clock is advanced.
      await this.clock.advance(this.informer.status.retryInMs ?? 0)
      return isSo()
    }
    await waitUntil(what, isNow).catch((error: unknown) => {
      const { state, reason } = this.informer.status
      const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
      const requested = this.fake.exchanges.slice(-5).map(({ path, query }) => `${path}?${query}`)
      throw new Error(`it is ${state} (${reason}); ${errors.join('; ')}; ${requested.join(', ')}`, { cause: error })
    })
  }

  /** Lets time pass, slowly enough for requests to be answered. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await this.clock.advance(1_000)
      await sleep(2)
    }
  }

  /** Waits like `until`, and lets deadlines pass too. */
  async untilPassing(what: string, isSo: () => boolean): Promise<void> {
    const isNow = async (): Promise<boolean> => {
      if (!isSo()) await this.clock.advance(500)
      return isSo()
    }
    await waitUntil(what, isNow)
  }

  /** What is waited for, while time passes between attempts. */
  async soon<V>(promise: Promise<V>): Promise<V> {
    const results: V[] = []
    void promise.then((value) => results.push(value))
    await this.until('the request', () => results.length > 0)
    return await promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
    await this.fake[Symbol.asyncDispose]()
  }
}

function contentsOf(objects: readonly FakeObject[]): string[] {
  return objects.map(({ metadata, data }) => `${metadata.name}=${JSON.stringify(data)}`).sort()
}
