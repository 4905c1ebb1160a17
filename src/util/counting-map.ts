/** A Map that counts its changes. If the number is the same as before, a reader need not compare the entries. */
export class CountingMap<K, V> extends Map<K, V> {
  changes = 0

  override set(key: K, value: V): this {
    this.changes++
    return super.set(key, value)
  }

  override delete(key: K): boolean {
    const isDeleted = super.delete(key)
    if (isDeleted) this.changes++
    return isDeleted
  }

  override clear(): void {
    this.changes++
    super.clear()
  }
}
