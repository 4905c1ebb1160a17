import { recipeOf, type ServerName } from './recipes.js'

/** Whether a server that is lacking fails the run, instead of skipping its tests: `LISTWATCH_REQUIRE_SERVERS=all`. */
export function areServersRequired(): boolean {
  const value = process.env['LISTWATCH_REQUIRE_SERVERS'] ?? ''
  if (value !== '' && value !== 'all') throw new Error(`LISTWATCH_REQUIRE_SERVERS must be all or empty, got ${value}`)
  return value === 'all'
}

/** Whether the lack of this server fails the run. */
export function isRequired(name: ServerName): boolean {
  return areServersRequired() && recipeOf(name).isRolling !== true
}
