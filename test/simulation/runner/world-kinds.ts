/** Worlds have programs of their own: replicas of a controller, relays of a mirror, and a share with its workers. */
export const worldKinds = ['replicas', 'relay', 'share'] as const

export type WorldKind = (typeof worldKinds)[number]

export function isWorldKind(kind: string | undefined): kind is WorldKind {
  return worldKinds.some((each) => each === kind)
}
