export function uniqueName(name: string, taken: { has(name: string): boolean }): string {
  let unique = name
  for (let n = 2; taken.has(unique); n++) unique = `${name}#${n}`
  return unique
}
