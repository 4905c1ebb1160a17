import ts from 'typescript'

/** Marks of code in a literal, such as the edits of a mutant. */
const CODE =
  /=>|===|!==|[A-Za-z)\]] = |\bthis\.#?\w|\b(?:if|for|while|switch) \(|\b(?:await|return|import|export) [\w{*#]+[.(;]|\)\s*[{;]/

/** The line comments of one text, a block comment, or a character of code. */
const COMMENTS = /(?:\/\/.*(?:\s+(?=\/\/))?)+|\/\*[\s\S]*?\*\/|[^\n]/g

/**
 * Returns the prose of a TypeScript file: its comments, and its string literals and templates of at least two words.
 * Code is left out, also in backticks and in literals that quote code. Every line keeps its number.
 */
export function proseOfTypeScript(text: string): string {
  return proseIn(ts.createSourceFile('prose.ts', text, ts.ScriptTarget.Latest, true), 0, text.length)

  /** The prose from one position to another, between which the node is. */
  function proseIn(node: ts.Node, from: number, to: number): string {
    let [prose, at] = ['', from]
    const visit = (each: ts.Node): void => {
      const isTemplate = ts.isTemplateLiteral(each) || ts.isTemplateLiteralTypeNode(each)
      if (!isTemplate && !ts.isStringLiteral(each) && !ts.isRegularExpressionLiteral(each)) ts.forEachChild(each, visit)
      else {
        prose += commentsIn(text.slice(at, each.getStart()))
        if (!ts.isRegularExpressionLiteral(each)) prose += ofLiteral(each)
        at = each.end
      }
    }
    visit(node)
    return prose + commentsIn(text.slice(at, to))
  }

  /** The expressions in a template are code, which may have literals of its own. */
  function ofLiteral(node: ts.StringLiteral | ts.TemplateLiteral | ts.TemplateLiteralTypeNode): string {
    const partOf = (each: ts.Node): string => text.slice(each.getStart(), each.end).replace(/^[`'"}]|[`'"]$|\$\{$/g, '')
    if (!('head' in node)) return literal(partOf(node))
    let [outer, inner, at] = [partOf(node.head), '', node.head.end]
    for (const { literal: next, ...span } of node.templateSpans) {
      const expression = proseIn('expression' in span ? span.expression : span.type, at, next.getStart())
      inner += expression.replace(/\n/g, ' ')
      outer += `_${expression.replace(/[^\n]/g, '')}${partOf(next)}`
      at = next.end
    }
    return literal(outer) + (/\w/.test(inner) ? inner : '')
  }
}

function commentsIn(code: string): string {
  return code.replace(COMMENTS, (part) => {
    if (part.startsWith('//')) return `. ${withoutCode(part.replace(/^[^\S\n]*\/\//gm, '  '))}`
    return part.startsWith('/*') ? `. ${withoutCode(part.slice(2, -2).replace(/^[^\S\n]*\*/gm, ' '))}` : ' '
  })
}

function literal(raw: string): string {
  const text = withoutCode(raw.replaceAll('\\`', '`'))
  const isProse = /[A-Za-z]{2,}[^A-Za-z]*\s[^A-Za-z]*[A-Za-z]/.test(text) && !CODE.test(text)
  return isProse ? `. ${text.replace(/\\[nt]/g, ' ')} ` : raw.replace(/[^\n]/g, '')
}

/** Leaves out code in backticks, and the keywords of SQL. */
function withoutCode(prose: string): string {
  return prose.replace(/`[^`\n]*`/g, '``').replace(/\bWHERE\b/g, '')
}
