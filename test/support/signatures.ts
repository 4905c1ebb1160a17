import { join } from 'node:path'
import ts from 'typescript'
import { root, textOf } from './sources.js'

const PACKAGE = 'listwatch'
const COLUMNS = 120
const printer = ts.createPrinter({ removeComments: true })

/**
 * Returns a page for each module of the package: its exported declarations by name, with their public members by name,
 * and without docstrings. What several modules export is declared on the first of their pages, from which the others
 * export it. A page imports each other type that its declarations mention: from `listwatch`, `listwatch/adapter`, another
 * package, or a path under `dist`, if neither the module nor one of the two exports it.
 */
export function publicSignatures(): Map<string, string> {
  const paths = entryPoints()
  const program = ts.createProgram([...paths.values()], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    types: ['node'],
  })
  const checker = program.getTypeChecker()
  const targetOf = (symbol: ts.Symbol): ts.Symbol =>
    has(symbol, ts.SymbolFlags.Alias) ? checker.getAliasedSymbol(symbol) : symbol

  function exportsOf(module: string): ReadonlySet<ts.Symbol> {
    const file = program.getSourceFile(paths.get(module) ?? '')
    const symbol = file && checker.getSymbolAtLocation(file)
    if (symbol === undefined) throw new Error(`${module} has no declarations`)
    return new Set(
      checker.getExportsOfModule(symbol).map((exported) => {
        const target = targetOf(exported)
        const isTypeOnly = exported.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) === true
        if (exported.name !== target.name || (isTypeOnly && has(target, ts.SymbolFlags.Value)))
          throw new Error(`${module} exports ${target.name} by another name, or as a type only: no page shows that`)
        return target
      }),
    )
  }

  const shared = ['listwatch', 'listwatch/adapter'].map((module) => ({ module, symbols: exportsOf(module) }))

  /** The module to import a symbol from, on the page that exports `own`. Undefined if it needs no import. */
  function moduleOf(symbol: ts.Symbol, own: ReadonlySet<ts.Symbol>): string | undefined {
    const target = targetOf(symbol)
    if (own.has(target)) return undefined
    const known = shared.find(({ symbols }) => symbols.has(target))
    if (known !== undefined) return known.module
    const path = target.declarations?.[0]?.getSourceFile().fileName
    if (path?.startsWith(join(root, 'dist/'))) return path.slice(root.length)
    const statement = ts.findAncestor(symbol.declarations?.[0], ts.isImportDeclaration)
    return statement && (statement.moduleSpecifier as ts.StringLiteral).text
  }

  /** Adds the names in a declaration that are declared outside of it to the imports. */
  function addImports(imports: Map<string, Set<string>>, declaration: ts.Node, own: ReadonlySet<ts.Symbol>): void {
    const file = declaration.getSourceFile()
    const isInside = (each: ts.Node): boolean =>
      each.getSourceFile() === file && each.pos >= declaration.pos && each.end <= declaration.end
    const visit = (node: ts.Node): void => {
      const symbol = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined
      const module = symbol && !symbol.declarations?.some(isInside) ? moduleOf(symbol, own) : undefined
      if (module !== undefined) imports.set(module, (imports.get(module) ?? new Set()).add(node.getText()))
      ts.forEachChild(node, visit)
    }
    visit(declaration)
  }

  /** The module whose page declares a symbol. */
  const declaredBy = new Map<ts.Symbol, string>()

  function pageOf(module: string): string {
    const own = exportsOf(module)
    const [imports, exports] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()]
    const declarations = [...own].sort(byName).flatMap((symbol) => {
      const { name, declarations = [] } = symbol
      const page = declaredBy.get(symbol) ?? module
      declaredBy.set(symbol, page)
      if (page !== module) exports.set(page, (exports.get(page) ?? new Set()).add(name))
      return (page === module ? declarations : []).map((each) => {
        const declaration = ts.isVariableDeclaration(each) ? each.parent.parent : each
        addImports(imports, declaration, own)
        return linesOf(declaration)
      })
    })
    const lines = [...statements('import type', imports), ...statements('export', exports), ...declarations]
    return `${lines.join('\n')}\n`
  }

  return new Map(Array.from(paths.keys(), (module) => [module, pageOf(module)]))
}

function statements(what: string, names: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return Array.from(names, ([from, each]) => `${what} { ${[...each].sort().join(', ')} } from '${from}'`)
    .sort()
    .map(wrapped)
}

function has(symbol: ts.Symbol, flag: ts.SymbolFlags): boolean {
  return (symbol.flags & flag) !== 0
}

/** The modules of package.json that have types, and the paths of their declarations. */
function entryPoints(): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(textOf('package.json')) as {
    readonly exports: Readonly<Record<string, { readonly types?: string }>>
  }
  const modules = Object.entries(exports).map(([name, { types }]) => [join(PACKAGE, name), types] as const)
  return new Map(modules.flatMap(([module, types]) => (types === undefined ? [] : [[module, join(root, types)]])))
}

/**
 * A declaration without its comments and private members: in one line, or with the properties side by side, and a line
 * for each method.
 */
function linesOf(declaration: ts.Node): string {
  const [whole, head, members] = partsOf(declaration)
  if (whole.length <= COLUMNS || members === undefined) return wrapped(whole)
  const lines: string[] = []
  let hasProperties = false
  for (const member of members) {
    const line = lineOf(member)
    const joined = `${lines.at(-1)}; ${line}`
    if (isProperty(member) && hasProperties && joined.length <= COLUMNS) lines[lines.length - 1] = joined
    else lines.push(`  ${line}`)
    hasProperties = isProperty(member)
  }
  return [head, ...lines.map(wrapped), '}'].join('\n')
}

/** The line of a declaration, and of an interface or a class also its head and its members by name. */
function partsOf(node: ts.Node): [whole: string, head: string, members?: readonly ts.Node[]] {
  const headOf = (empty: ts.Node): string => lineOf(empty, node).replace(/\}$/, '')
  if (ts.isInterfaceDeclaration(node)) {
    const { modifiers, name, typeParameters, heritageClauses } = node
    const members = [...node.members].sort(byNameOfMember)
    const made = (all: readonly ts.TypeElement[]): ts.Node =>
      ts.factory.updateInterfaceDeclaration(node, modifiers, name, typeParameters, heritageClauses, all)
    return [lineOf(made(members), node), headOf(made([])), members]
  }
  if (ts.isClassDeclaration(node)) {
    const { modifiers, name, typeParameters, heritageClauses } = node
    const members = node.members.filter(isPublic).sort(byNameOfMember)
    const made = (all: readonly ts.ClassElement[]): ts.Node =>
      ts.factory.updateClassDeclaration(node, modifiers, name, typeParameters, heritageClauses, all)
    return [lineOf(made(members), node), headOf(made([])), members]
  }
  return [lineOf(node), '']
}

/** A node in one line. `original` is in a file. */
function lineOf(node: ts.Node, original = node): string {
  return printer
    .printNode(ts.EmitHint.Unspecified, node, original.getSourceFile())
    .replace(/\s*\n\s*/g, ' ')
    .replace(/;$/, '')
    .replaceAll('; }', ' }')
    .replaceAll('{ }', '{}')
    .replace(/\[ (.*?) \]/g, '[$1]')
}

/** Breaks a line that is too long, each time before the last part that does not fit. */
function wrapped(line: string): string {
  const [lead = ''] = /^ */.exec(line) ?? []
  const lines: string[] = []
  for (const part of line.split(/(?<=[,;{|?]|=>) /)) {
    const joined = lines.length === 0 ? part : `${lines.pop()} ${part}`
    if (joined.length <= COLUMNS) lines.push(joined)
    else lines.push(joined.slice(0, -part.length - 1), `${lead}    ${part}`)
  }
  return lines.join('\n')
}

function isPublic(member: ts.ClassElement): boolean {
  const isPrivate = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0
  return !isPrivate && !(member.name && ts.isPrivateIdentifier(member.name))
}

function isProperty(member: ts.Node): boolean {
  return ts.isPropertySignature(member) || ts.isPropertyDeclaration(member) || ts.isGetAccessor(member)
}

/** Signatures without a name are first, and then properties. Methods of one name keep their order. */
function byNameOfMember(a: ts.NamedDeclaration, b: ts.NamedDeclaration): number {
  const rankOf = (member: ts.NamedDeclaration): string =>
    member.name === undefined ? '' : `${isProperty(member) ? 1 : 2} ${member.name.getText()}`
  return byName({ name: rankOf(a) }, { name: rankOf(b) })
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
