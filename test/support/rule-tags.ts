/** The rules of SPEC.md in front of the title of a test or a group: `[C2][law 4c] a list that …`. */
const TAGS = /(?<=['"`])(?:\[(?:[A-Z]{1,2}\d+[a-z]?|law \d[a-z]?)\])+ (?=\S)/g

/** The rules that the titles in a test file name, each as often as it is named. */
export function rulesNamedIn(text: string): string[] {
  return Array.from(text.matchAll(TAGS), ([tags]) => tags.slice(1, -2).split('][')).flat()
}

/** The text of a test file without the rules in front of its titles. */
export function withoutRules(text: string): string {
  return text.replace(TAGS, '')
}
