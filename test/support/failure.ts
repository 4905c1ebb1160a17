import { expect } from 'vitest'

/** The code of an error, and what its message contains, or matches. */
export function failure(code: string, says: string | RegExp): { readonly code: string; readonly message: unknown } {
  return { code, message: typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says) }
}
