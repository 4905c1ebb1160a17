import type { InformerDrive } from '../informer-drive.js'
import type { Scene } from '../stage.js'

/** Members that take turns: so many of them list again at a time. */
export interface Circle {
  readonly members: readonly InformerDrive[]
  readonly max: number
}

/** A member that lists again, or waits until it may. */
interface Relist {
  readonly drive: InformerDrive
  /** How many lists it had begun before. */
  readonly lists: number
}

/** Judges turns by what can be seen of members: how many list again, and that nobody waits without need. */
export class Turns {
  readonly #scene: Scene
  readonly #circle: Circle
  /** In the order in which they came. */
  readonly #relists = new Map<InformerDrive, Relist>()

  constructor(scene: Scene, circle: Circle) {
    this.#scene = scene
    this.#circle = circle
    for (const drive of circle.members) {
      drive.informer.on('status', ({ state }) => {
        this.#relists.delete(drive)
        if (state.endsWith('listing') && drive.informer.version !== undefined)
          this.#relists.set(drive, { drive, lists: drive.opens.lists })
      })
    }
  }

  /** Whether it waits for its turn. */
  isWaiting(drive: InformerDrive): boolean {
    const relist = this.#relists.get(drive)
    return relist !== undefined && !hasBegun(relist)
  }

  look(): void {
    const { violate, mark } = this.#scene
    for (const { informer, opens } of this.#circle.members)
      if (informer.status.state === 'listing' && opens.lists === 0) violate('groups', 'a first list is held back')
    const { max } = this.#circle
    const relists = [...this.#relists.values()]
    const running = relists.filter(hasBegun)
    const first = relists.findIndex((relist) => !hasBegun(relist))
    if (running.length > max) violate('groups', `${running.length} members list again at a time, and ${max} may`)
    if (first < 0) return
    mark('a member waited for its turn')
    if (running.length < max)
      violate('groups', `a member waits for its turn, and ${running.length} of ${max} list again`)
    if (relists.slice(first).some(hasBegun)) violate('groups', 'a member lists again before one that came earlier')
  }
}

function hasBegun({ drive, lists }: Relist): boolean {
  return drive.opens.lists > lists
}
