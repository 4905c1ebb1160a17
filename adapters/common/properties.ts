export type Properties = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null
}

/** The properties of any value; null and undefined have none. */
export function propertiesOf(value: unknown): Properties {
  return Object(value)
}

export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  const properties = propertiesOf(value)
  return names.every((name) => typeof properties[name] === 'function')
}
