import { isProduction } from '../contract/node-or-browser.js'

/** Whether results are frozen to find mistakes: unless NODE_ENV is `production`. */
export function isDevelopment(): boolean {
  return !isProduction()
}

/** Freezes plain objects and arrays, at any depth. A frozen object is assumed to be deeply frozen. */
export function deepFreeze<T>(value: T): T {
  if (!isFreezable(value)) return value
  const stack: object[] = [Object.freeze(value)]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    for (const child of Array.isArray(next) ? next : Object.values(next)) {
      if (isFreezable(child)) stack.push(Object.freeze(child))
    }
  }
  return value
}

function isFreezable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
