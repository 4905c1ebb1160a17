/**
 * React hooks over informers: a component renders again if, and only if, its own result has changed.
 *
 * @module listwatch/react
 */

export { useObject } from './use-object.js'
export { useObjects } from './use-objects.js'
export { useStatus } from './use-status.js'
