/**
 * Whether progress notifications of this server version are reliable. Before 3.4.25 and 3.5.8 they may be ahead of
 * pending events: https://github.com/etcd-io/etcd/issues/15220.
 */
export function hasReliableProgress(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.\-+]/).map(Number)
  if (major !== 3) return major > 3
  if (minor === 4) return patch >= 25
  return minor === 5 ? patch >= 8 : minor > 5
}

/**
 * Whether this server version may lose events unnoticed: of a watch that catches up during a compaction, or a delete at
 * the revision of a compaction. Versions before 3.5 receive no fixes.
 */
export function losesEvents(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.\-+]/).map(Number)
  if (major !== 3 || minor > 6) return false
  return minor === 6 ? patch < 6 : minor < 5 || patch < 24
}

export const KNOWN_LOSSES: string =
  'may lose events of a watch (https://github.com/etcd-io/etcd/issues/17612, 19179); use 3.5.24, 3.6.6 or later'
