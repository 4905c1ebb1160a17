import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import ts from 'typescript'
import { binary } from './build.js'
import { root, textOf } from './sources.js'

const PACKAGE = 'listwatch'
const SEPARATOR = '\n// The next page.\n'
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
        return lineOf(declaration)
      })
    })
    return [...linesOf('import type', imports), ...linesOf('export', exports), ...declarations].join('\n')
  }

  return formatted(new Map(Array.from(paths.keys(), (module) => [module, pageOf(module)])))
}

function linesOf(what: string, names: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return Array.from(names, ([from, each]) => `${what} { ${[...each].sort().join(', ')} } from '${from}'`).sort()
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

/** A declaration in one line, without its comments and private members. */
function lineOf(declaration: ts.Node): string {
  const file = declaration.getSourceFile()
  return printer.printNode(ts.EmitHint.Unspecified, tidied(declaration), file).replace(/\s*\n\s*/g, ' ')
}

function tidied(node: ts.Node): ts.Node {
  if (ts.isInterfaceDeclaration(node)) {
    const { modifiers, name, typeParameters, heritageClauses, members } = node
    const sorted = [...members].sort(byNameOfMember)
    return ts.factory.updateInterfaceDeclaration(node, modifiers, name, typeParameters, heritageClauses, sorted)
  }
  if (ts.isClassDeclaration(node)) {
    const { modifiers, name, typeParameters, heritageClauses, members } = node
    const sorted = members.filter(isPublic).sort(byNameOfMember)
    return ts.factory.updateClassDeclaration(node, modifiers, name, typeParameters, heritageClauses, sorted)
  }
  return node
}

function isPublic(member: ts.ClassElement): boolean {
  const isPrivate = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0
  return !isPrivate && !(member.name && ts.isPrivateIdentifier(member.name))
}

/** Signatures without a name are first. Those of one name keep their order. */
function byNameOfMember(a: ts.NamedDeclaration, b: ts.NamedDeclaration): number {
  return byName({ name: a.name?.getText() ?? '' }, { name: b.name?.getText() ?? '' })
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

/** Formats all pages in one run of Biome. */
function formatted(pages: ReadonlyMap<string, string>): Map<string, string> {
  const input = Array.from(pages.values()).join(SEPARATOR)
  const { status, stdout, stderr } = spawnSync(binary('biome'), ['format', '--stdin-file-path=all.d.ts'], {
    cwd: root,
    input,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  const texts = stdout.split(SEPARATOR.trimStart())
  return new Map(Array.from(pages.keys(), (module, at) => [module, texts[at] ?? '']))
}
