/**
 * Whether what a server says of its progress is true. Before 3.4.25 and 3.5.8 it may run ahead of events that are still to
 * come: https://github.com/etcd-io/etcd/issues/15220.
 */
export function isTrustworthy(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.\-+]/).map(Number)
  if (major !== 3) return major > 3
  if (minor === 4) return patch >= 25
  return minor === 5 ? patch >= 8 : minor > 5
}
