import { assertSynchronous, membersOf } from './type-guards.js'
/**
 * A schema of any library that implements Standard Schema 1 (standardschema.dev): zod, valibot, arktype and others.
 *
 * @example
 * ```ts
 * import { z } from 'zod'
 *
 * const schema = z.object({ id: z.string(), total: z.number().nonnegative() })
 * const informer = createInformer({ source, schema, onInvalid: 'omit' }) // Default: `keep-previous`.
 * informer.on('error', ({ code, key, message }) => {
 *   if (code === 'DECODE') console.warn(key, message)
 * })
 * ```
 */
export interface StandardSchema<Output> {
  /** The members that the specification defines. */
  readonly '~standard': {
    /** The version of the specification. */
    readonly version: 1
    /** The name of the library. */
    readonly vendor: string
    /**
     * Returns the converted value, or why the value is not valid: each reason in words, and the path to the invalid
     * part. The informer rejects a promise.
     */
    readonly validate: (value: unknown) =>
      | { readonly value: Output; readonly issues?: undefined }
      | {
          readonly issues: readonly {
            readonly message: string
            readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
          }[]
        }
      | Promise<unknown>
    /** The input and output types; not used at run time. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

/** The result of a synchronous validation. */
export type Validated<Output> = Exclude<ReturnType<StandardSchema<Output>['~standard']['validate']>, Promise<unknown>>

const MAX_ISSUES = 5

/** Returns why a value is not a usable schema; undefined if it is one. */
export function flawInSchema(schema: unknown): string | undefined {
  const { version, validate } = membersOf(membersOf(schema)['~standard'])
  if (version === 1 && typeof validate === 'function') return undefined
  return 'must be a Standard Schema (an object with "~standard", as of zod, valibot or arktype)'
}

/** Returns the schema as a function, which throws an error with the path of each issue. */
export function parserOf<Output>(schema: StandardSchema<Output>): (value: unknown) => Output {
  const { '~standard': standard } = schema
  return (value) => {
    const result = standard.validate(value) as Validated<Output>
    assertSynchronous(result, 'schema')
    if (result.issues === undefined) return result.value
    throw new Error(`the schema refuses it: ${messageOf(result.issues)}`, { cause: result.issues })
  }
}

/** Returns `schema` and `transform` as one function. Undefined if there is neither. */
export function preparing<P, T>({
  schema,
  transform,
}: {
  readonly schema?: StandardSchema<P>
  readonly transform?: (object: P, key: string) => T | undefined
}): ((object: unknown, key: string) => T | undefined) | undefined {
  const convert =
    transform &&
    ((object: unknown, key: string): T | undefined => {
      const result = transform(object as P, key)
      assertSynchronous(result, 'transform')
      return result
    })
  if (schema === undefined) return convert
  const parse = parserOf(schema)
  if (convert === undefined) return parse as (object: unknown) => T | undefined
  return (object, key) => convert(parse(object), key)
}

function messageOf(issues: NonNullable<Validated<unknown>['issues']>): string {
  const named = issues.slice(0, MAX_ISSUES).map(({ message, path }) => {
    const place = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  const more = issues.length - named.length
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ')
}
