import { Application, type Comment, type DeclarationReflection, ReflectionKind } from 'typedoc'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureBuilt } from './support/build.js'

/** The entry points in package.json that are modules. */
const PUBLIC_ENTRY_POINTS = 18

let entryPoints: readonly DeclarationReflection[] = []
let properties: readonly DeclarationReflection[] = []
beforeAll(async () => {
  await ensureBuilt()
  const application = await Application.bootstrapWithPlugins({ logLevel: 'Error' })
  const project = await application.convert()
  entryPoints = project?.children ?? []
  properties = project?.getReflectionsByKind(ReflectionKind.Property) as DeclarationReflection[]
})

/** The exported symbols of a kind. */
function exported(kind: ReflectionKind): DeclarationReflection[] {
  return entryPoints.flatMap(({ children = [] }) => children.filter((each) => each.kindOf(kind)))
}

/** The docstrings of a symbol; of a function those of all its overloads. */
function commentsOf({ comment, signatures = [] }: DeclarationReflection): Comment[] {
  return [comment, ...signatures.map((each) => each.comment)].filter((each) => each !== undefined)
}

function hasTag(symbol: DeclarationReflection, tag: `@${string}`): boolean {
  return commentsOf(symbol).some((comment) => comment.getTag(tag) !== undefined)
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

  test('have an example for every exported function, class and constant', () => {
    const symbols = exported(ReflectionKind.Function | ReflectionKind.Class | ReflectionKind.Variable)
    expect(symbols.length).toBeGreaterThan(exported(ReflectionKind.Function).length + 10)
    const examples = symbols
      .flatMap(commentsOf)
      .flatMap((comment) => comment.getTags('@example').map(({ content }) => textOf(content)))
      .join('\n')
    const without = symbols.filter((each) => !hasTag(each, '@example') && !examples.includes(`new ${each.name}(`))
    expect(without.map(({ name }) => name)).toEqual([])
  })

  test('name what every exported function returns', () => {
    const functions = exported(ReflectionKind.Function)
    expect(functions.length).toBeGreaterThan(15)
    const returnsNothing = ({ signatures = [] }: DeclarationReflection): boolean =>
      signatures.every(({ type }) => /^(?:void|Promise<void>)$/.test(String(type)))
    const saysIt = (symbol: DeclarationReflection): boolean =>
      hasTag(symbol, '@returns') || commentsOf(symbol).some(({ summary }) => /returns|resolves/i.test(textOf(summary)))
    expect(functions.filter((each) => !returnsNothing(each) && !saysIt(each)).map(({ name }) => name)).toEqual([])
  })

  test('name the errors of every exported function that has some', () => {
    const without = exported(ReflectionKind.Function).filter((each) => !hasTag(each, '@throws'))
    expect(without.map(({ name }) => name)).toEqual([
      'terminal',
      'nodeListener',
      'instrumentInformers',
      'uninstallChangeLogSql',
    ])
  })
})
