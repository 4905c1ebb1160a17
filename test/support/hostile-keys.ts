/** Keys over which a careless store trips, each with a name that can be printed. */
export const hostileKeys: readonly (readonly [name: string, key: string])[] = [
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['hasOwnProperty', 'hasOwnProperty'],
  ['of no characters', ''],
  ['NUL', '\u0000'],
  ['of a lone surrogate', '\ud800'],
  ['of 10 kB', 'k'.repeat(10_000)],
]
