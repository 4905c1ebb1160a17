/** The properties of a value whose type is not known. */
export type Properties = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null
}

/** The properties of any value; null and undefined have none. */
export function propertiesOf(value: unknown): Properties {
  return Object(value)
}

/** The elements of an array; none if the value is not an array. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Whether a value has all these methods. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  const properties = propertiesOf(value)
  return names.every((name) => typeof properties[name] === 'function')
}
