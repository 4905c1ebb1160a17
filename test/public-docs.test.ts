import { Application, type Comment, type DeclarationReflection, ReflectionKind } from 'typedoc'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureBuilt } from './support/build.js'
import { exampleBlocks } from './support/documents.js'

/** The entry points in package.json that are modules. */
const PUBLIC_ENTRY_POINTS = 21

let entryPoints: readonly DeclarationReflection[] = []
let properties: readonly DeclarationReflection[] = []
beforeAll(async () => {
  await ensureBuilt()
  const application = await Application.bootstrapWithPlugins({ logLevel: 'Error' })
  const project = await application.convert()
  entryPoints = project?.children ?? []
  properties = project?.getReflectionsByKind(ReflectionKind.Property) as DeclarationReflection[]
})

/** The exported symbols of a kind, or all. A symbol that another entry point exports too is there once. */
function exported(kind?: ReflectionKind): DeclarationReflection[] {
  const symbols = entryPoints.flatMap(({ children = [] }) => children)
  return symbols.filter((each) => !each.isReference() && (kind === undefined || each.kindOf(kind)))
}

/** The docstrings of a symbol; of a function those of all its overloads. */
function commentsOf({ comment, signatures = [] }: DeclarationReflection): Comment[] {
  return [comment, ...signatures.map((each) => each.comment)].filter((each) => each !== undefined)
}

function hasTag(symbol: DeclarationReflection, tag: `@${string}`): boolean {
  return commentsOf(symbol).some((comment) => comment.getTag(tag) !== undefined)
}

function examplesOf(symbol: DeclarationReflection): string[] {
  return commentsOf(symbol).flatMap((each) => each.getTags('@example').map(({ content }) => textOf(content).trim()))
}

function textOf(parts: Comment['summary']): string {
  return parts.map(({ text }) => text).join('')
}

/** TypeDoc rejects other symbols without a docstring: see typedoc.config.mjs. */
describe('the docstrings of the public declarations', () => {
  test('cover every entry point', () => {
    expect(entryPoints).toHaveLength(PUBLIC_ENTRY_POINTS)
    expect(entryPoints.flatMap(({ children = [] }) => children).length).toBeGreaterThan(100)
  })

  test('describe every property of an exported interface or class', () => {
    const own = properties.filter(({ parent }) => parent?.kindOf(ReflectionKind.ClassOrInterface))
    expect(own.length).toBeGreaterThan(300)
    const isDiscriminant = ({ type }: DeclarationReflection): boolean => type?.type === 'literal'
    const missing = own.filter((each) => !each.hasComment() && !isDiscriminant(each))
    expect(missing.map((each) => each.getFriendlyFullName())).toEqual([])
  })

  test('have an example for every exported symbol', () => {
    const symbols = exported()
    expect(symbols.length).toBeGreaterThan(exported(ReflectionKind.Function).length + 200)
    expect(symbols.filter((each) => examplesOf(each).length === 0).map(({ name }) => name)).toEqual([])
  })

  test('have no example that test/documents.test.ts does not compile', () => {
    const compiled = new Set(exampleBlocks().map(({ text }) => `\`\`\`ts\n${text}\`\`\``))
    const others = exported().filter((each) => examplesOf(each).some((example) => !compiled.has(example)))
    expect(others.map(({ name }) => name)).toEqual([])
  })

  test('have no example twice', () => {
    const examples = exported().flatMap((each) => examplesOf(each).map((text) => ({ text, name: each.name })))
    const repeated = [...Map.groupBy(examples, ({ text }) => text).values()].filter(({ length }) => length > 1)
    expect(repeated.map((each) => each.map(({ name }) => name))).toEqual([])
  })

  test('name what every exported function returns', () => {
    const functions = exported(ReflectionKind.Function)
    expect(functions.length).toBeGreaterThan(15)
    const returnsNothing = ({ signatures = [] }: DeclarationReflection): boolean =>
      signatures.every(({ type }) => /^(?:void|Promise<void>)$/.test(String(type)))
    const silent = functions.filter((each) => !returnsNothing(each) && !hasTag(each, '@returns'))
    expect(silent.map(({ name }) => name)).toEqual([])
  })

  test('name the errors of every exported function that has some', () => {
    const without = exported(ReflectionKind.Function).filter((each) => !hasTag(each, '@throws'))
    expect(without.map(({ name }) => name)).toEqual(['terminal', 'httpStatus'])
  })
})
