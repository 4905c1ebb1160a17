/** How a group asks its members, before it starts any of them, whether they can be started. */
export const assertStartable: unique symbol = Symbol.for('listwatch.assertStartable')

export interface Startable {
  /** Throws what `start` would. */
  [assertStartable](): void
}

export function isStartable(value: object): value is Startable {
  return assertStartable in value
}
