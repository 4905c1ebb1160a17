import { setTimeout as sleep } from 'node:timers/promises'
import {
  type KubernetesSource,
  type KubernetesSourceOptions,
  kubernetesSource,
} from '../../adapters/kubernetes/index.js'
import type { ListContext } from '../../src/adapter.js'
import { createInformer, type Informer } from '../../src/index.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { waitUntil } from '../servers/wait-until.js'
import { Follower } from '../support/follower.js'
import { FakeKubernetes } from './fake.js'
import type { FakeCollection, FakeObject } from './fake-collection.js'

export interface MirrorOptions {
  /** How many objects the fake has: `k0` and so on. */
  readonly fill?: number
  /** Whether the fake streams lists. Default true. */
  readonly streams?: boolean
  /** Called before the first request to the fake. */
  readonly prepare?: (fake: FakeKubernetes) => void
  readonly source?: Partial<KubernetesSourceOptions>
  /** Default: one that stays the same. */
  readonly configOf?: (fake: FakeKubernetes) => KubernetesSourceOptions['kubeConfig']
  readonly audit?: false | { readonly periodMs: number }
}

/** Objects as `name=n`, sorted. */
export function contentsOf(objects: readonly FakeObject[]): string[] {
  return objects.map(({ metadata, data }) => `${metadata.name}=${JSON.stringify(data)}`).sort()
}

/** A mirror of a fake. Its time stands still but for what a test lets pass: no deadline races with a slow machine. */
export class Mirror extends Follower<FakeObject, KubernetesSource<FakeObject>, VirtualClock> {
  readonly fake: FakeKubernetes

  private constructor(fake: FakeKubernetes, { source, audit = false, configOf }: MirrorOptions) {
    const own = kubernetesSource<FakeObject>({
      kubeConfig: configOf?.(fake) ?? fake.config(),
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'default',
      // A test counts only its own requests.
      probeMs: false,
      ...source,
    })
    super(own, { clock: new VirtualClock(), audit })
    this.fake = fake
  }

  static async open(options: MirrorOptions = {}): Promise<Mirror> {
    const fake = await FakeKubernetes.start()
    fake.collection.hasStreamedLists = options.streams ?? true
    fake.collection.fill(options.fill ?? 0)
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

  /** The same, with a mirror that has listed and watches. */
  static async live(options: MirrorOptions, act: (mirror: Mirror) => Promise<void>): Promise<void> {
    await Mirror.with(options, async (mirror) => {
      await mirror.live()
      await act(mirror)
    })
  }

  /** Writes an object, and waits until the mirror has what the fake has. */
  async follows(...written: Parameters<FakeCollection['put']>): Promise<void> {
    this.fake.collection.put(...written)
    await this.healed()
  }

  /** Another informer over the same source, begun. */
  beside(): Informer<FakeObject> {
    const informer = createInformer({ source: this.source, clock: this.clock, audit: false })
    informer.on('error', () => {})
    return informer.start()
  }

  /** What it has, as `name=n`, sorted. */
  get contents(): string[] {
    return contentsOf(this.informer.list())
  }

  context(): ListContext {
    return { signal: new AbortController().signal, clock: this.clock, random: { next: () => 0.5 }, pageSize: 1_000 }
  }

  async keys(): Promise<string[]> {
    const keys: string[] = []
    for await (const page of this.source.versions(this.context())) keys.push(...page.keys.map(({ key }) => key))
    return keys
  }

  /** Whether it includes everything up to this version of the fake's. */
  hasReached(version: string): boolean {
    return Number(this.informer.version) >= Number(version)
  }

  /** The first list is in, and the watch is open. */
  override async live(): Promise<void> {
    this.informer.start()
    await this.until(
      'the watch to be open',
      () => this.informer.status.isSynced && this.fake.collection.watching.length > 0,
    )
  }

  override async truth(): Promise<ReadonlyMap<string, string>> {
    const objects = this.fake.collection.at()
    return new Map(objects.map((object) => [`default/${object.metadata.name}`, this.textOf(object)]))
  }

  protected override textOf({ data }: FakeObject): string {
    return JSON.stringify(data)
  }

  override get story(): string {
    const requested = this.fake.exchanges.slice(-5).map(({ path, query }) => `${path}?${query}`)
    return `${super.story}; ${requested.join(', ')}`
  }

  /** Waits for a condition. Time passes only while everything else waits for time: between attempts. */
  override async until(what: string, isSo: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
    const isNow = async (): Promise<boolean> => {
      if (await isSo()) return true
      // A delay of 0 ms ends only when the clock is advanced.
      await this.clock.advance(this.informer.status.retryInMs ?? 0)
      return await isSo()
    }
    await super.until(what, isNow, ms)
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

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.fake[Symbol.asyncDispose]()
  }
}
