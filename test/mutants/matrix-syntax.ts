import { parseSync } from 'rolldown/utils'

/** A node of the syntax tree, as far as it is needed here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** One small change of a source. */
export interface Edit {
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly after: string
}

/** Calls the function with each node, outer ones first, and with its parent. Types are left out. */
function visit(path: string, code: string, visitor: (node: Node, parent: Node) => void): Node {
  const { program, errors } = parseSync(path, code, { sourceType: 'module' })
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const all = program as unknown as Node
  const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
  const walk = (parent: Node): void => {
    for (const value of Object.values(parent).flat()) {
      if (!isNode(value) || (value.type.startsWith('TS') && !isNode(value['expression']))) continue
      if (value.type === 'ImportDeclaration' || (value.type.startsWith('Export') && value['declaration'] === null))
        continue
      visitor(value, parent)
      walk(value)
    }
  }
  walk(all)
  return all
}

const isFunction = ({ type, body }: Node): boolean =>
  ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(type) && body !== null

/** The bodies of the functions. The first function has the number 1 in `counted`. */
export function functionsOf(path: string, code: string): { readonly start: number; readonly end: number }[] {
  const bodies: Node[] = []
  visit(path, code, (node) => void (isFunction(node) && bodies.push(node['body'] as Node)))
  return bodies
}

/** Lets each function and each turn of a loop call `globalThis.__reach`, with the number of the function or 0. */
export function counted(path: string, code: string): string {
  const pieces: { readonly at: number; readonly text: string }[] = []
  let functions = 0
  const program = visit(path, code, (node) => {
    const body = node['body'] as Node
    const isLoop = /^(Do)?While|^For/.test(node.type)
    if (!isLoop && !isFunction(node)) return
    const call = `__f(${isLoop ? 0 : ++functions})`
    const [before, after] = isLoop ? [`{ ${call}; `, ' }'] : [`(${call}, `, ')']
    if (body.type === 'BlockStatement') pieces.push({ at: body.start + 1, text: `${call};` })
    else pieces.push({ at: body.start, text: before }, { at: body.end, text: after })
  })
  const [first] = program['body'] as Node[]
  pieces.push({ at: first?.start ?? 0, text: `const __f = globalThis.__reach(${JSON.stringify(path)}); __f(0); ` })
  let text = code
  // From the end, so that the earlier places stay; of those at one place, the inner one last, which comes first then.
  for (const { at, text: piece } of pieces.sort((a, b) => b.at - a.at))
    text = text.slice(0, at) + piece + text.slice(at)
  return text
}

const SWAPPED: Readonly<Record<string, string>> = {
  ...{ '&&': '||', '||': '&&', '===': '!==', '!==': '===', '+': '-', '-': '+' },
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
}

const isText = (node: Node): boolean =>
  node.type === 'TemplateLiteral' ||
  typeof node['value'] === 'string' ||
  (node['operator'] === '+' && [node['left'], node['right']].some((side) => isText(side as Node)))

/** All edits of a source by the operators. */
export function editsOf(path: string, code: string): Edit[] {
  const edits: Edit[] = []
  const add = (operator: string, { start, end }: Pick<Node, 'start' | 'end'>, after: string): void =>
    void edits.push({ operator, start, end, after })
  const textOf = ({ start, end }: Node): string => code.slice(start, end)
  const bodies = new Set<Node>()
  visit(path, code, (node, parent) => {
    const { test, left, right, argument, expression, body } = node as unknown as Record<string, Node>
    const { operator, value } = node as unknown as { operator: string; value: unknown }
    if (isFunction(node)) bodies.add(body as Node)
    if (test?.type !== undefined && node.type !== 'SwitchCase') add('condition negated', test, `!(${textOf(test)})`)
    switch (node.type) {
      case 'LogicalExpression':
      case 'BinaryExpression': {
        const [first, second] = [left, right].map((side) => textOf(side as Node))
        const swapped = SWAPPED[operator]
        const name = /[<>]/.test(operator) ? 'boundary moved' : 'operator swapped'
        if (operator === '??') add('default removed', node, `${first}`)
        else if (swapped !== undefined && !(operator === '+' && isText(node)))
          add(name, node, `${first} ${swapped} ${second}`)
        return
      }
      case 'ExpressionStatement': {
        const { type } = (expression?.type === 'AwaitExpression' ? expression['argument'] : expression) as Node
        if (/^(Call|Chain)/.test(type) && !textOf(node).startsWith('super(')) add('call removed', node, ';')
        if (/^(Assignment|Update)/.test(type)) add('assignment removed', node, ';')
        return
      }
      case 'ReturnStatement': {
        const isLast = bodies.has(parent) && (parent['body'] as Node[]).at(-1) === node
        if (!isLast) add('return removed', node, ';')
        if (argument != null && textOf(argument) !== 'undefined') add('value removed', argument, 'undefined')
        return
      }
      case 'ArrowFunctionExpression':
        if (body?.type !== 'BlockStatement') add('value removed', body as Node, 'undefined')
        return
      case 'AwaitExpression':
        add('await removed', node, textOf(argument as Node))
        return
      case 'Literal':
        if (parent['key'] === node) return
        if (typeof value === 'boolean') add('boolean flipped', node, `${!value}`)
        if (typeof value === 'number') add('constant plus one', node, `(${textOf(node)} + 1)`)
        return
      case 'BlockStatement':
        if ((body as unknown as Node[]).length > 0 && !textOf(node).includes('super(')) add('block emptied', node, '{}')
    }
  })
  return edits
}
