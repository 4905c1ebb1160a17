/** Worlds have programs of their own: replicas of a controller, and relays of a mirror. */
export const worldKinds = ['replicas', 'relay'] as const

export type WorldKind = (typeof worldKinds)[number]

export function isWorldKind(kind: string | undefined): kind is WorldKind {
  return worldKinds.some((each) => each === kind)
}
