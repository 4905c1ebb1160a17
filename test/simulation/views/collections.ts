import { KEYS } from '../workload/settings.js'

export const COLLECTIONS: readonly string[] = ['a', 'b', 'c']

/** The keys of two accounts, one in each of the first two collections. */
export const ACCOUNTS: readonly string[] = ['debit', 'credit']

/** The number of the second account without that of the first, after each transaction. */
export const BALANCE = 1

export function collectionOf(key: string): string {
  const nth = ACCOUNTS.indexOf(key)
  return COLLECTIONS[nth < 0 ? KEYS.indexOf(key) % COLLECTIONS.length : nth] ?? ''
}
