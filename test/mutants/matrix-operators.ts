import { parseSync } from 'rolldown/utils'
import { hashOf, RandomDecisions } from '../simulation/workload/random-decisions.js'

/** A node of the syntax tree, as far as it is needed here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** One small change by an operator, at a position of a source without types. */
export interface Operator {
  readonly name: string
  readonly start: number
  readonly end: number
  /** The text that replaces the one from start to end. For readers only. */
  readonly after: string
}

/** A function of a source: which tests call it is known. */
export interface FunctionSpan {
  readonly start: number
  readonly end: number
}

/** A text to insert. At one position what ends comes first, then what begins inside a block, then what begins around a node. */
interface Piece {
  readonly at: number
  readonly rank: 0 | 1 | 2
  /** The other end of the node. */
  readonly other: number
  readonly text: string
  /** The source continues here, if a part of it is replaced. */
  readonly until?: number
}

interface Candidate extends Operator {
  /** Outer nodes come before inner ones. */
  readonly order: number
  readonly pieces: (id: number) => Piece[]
}

const around = ({ start, end }: FunctionSpan, before: string, after: string): Piece[] => [
  { at: start, rank: 2, other: end, text: before },
  { at: end, rank: 0, other: start, text: after },
]

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])
const LOOPS = new Set(['WhileStatement', 'DoWhileStatement', 'ForStatement', 'ForOfStatement', 'ForInStatement'])
const SWAPPED: Readonly<Record<string, string>> = {
  '&&': '||',
  '||': '&&',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
}
const BOUNDARIES: Readonly<Record<string, readonly [helper: string, swapped: string]>> = {
  '<': ['__lt', '<='],
  '<=': ['__le', '<'],
  '>': ['__gt', '>='],
  '>=': ['__ge', '>'],
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

function* childrenOf(node: Node): Generator<Node> {
  for (const key in node) {
    const value = node[key]
    if (Array.isArray(value)) {
      for (const each of value) if (isNode(each)) yield each
    } else if (isNode(value)) yield value
  }
}

const isText = (node: Node): boolean =>
  node.type === 'TemplateLiteral' ||
  (node.type === 'Literal' && typeof node['value'] === 'string') ||
  (node.type === 'ParenthesizedExpression' && isText(node['expression'] as Node)) ||
  (node.type === 'BinaryExpression' &&
    node['operator'] === '+' &&
    (isText(node['left'] as Node) || isText(node['right'] as Node)))

/** Looks at one source. */
class Reading {
  readonly candidates: Candidate[] = []
  readonly functions: FunctionSpan[] = []
  /** The counters of steps, which end what runs without end. */
  readonly guards: ((firstFunction: number) => Piece[])[] = []
  isAsync = false
  readonly #code: string

  constructor(path: string, code: string) {
    this.#code = code
    const { program, errors } = parseSync(path, code, { lang: path.endsWith('x') ? 'tsx' : 'ts', sourceType: 'module' })
    const [error] = errors
    if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`)
    this.#read(program as unknown as Node, undefined, undefined)
  }

  #text({ start, end }: FunctionSpan): string {
    return this.#code.slice(start, end)
  }

  #add(name: string, { start, end }: FunctionSpan, after: string, pieces: (id: number) => Piece[]): void {
    this.candidates.push({ name, start, end, after, pieces, order: this.candidates.length })
  }

  /** The expression is another one if the mutant is chosen. */
  #choose(name: string, node: Node, after: string): void {
    this.#add(name, node, after, (id) => around(node, `(__m(${id}) ? ${after} : (`, '))'))
  }

  /** The statement is left out if the mutant is chosen. */
  #leaveOut(name: string, node: Node): void {
    this.#add(name, node, '', (id) => around(node, `{ if (!__m(${id})) `, ' }'))
  }

  #read(node: Node, parent: Node | undefined, owner: Node | undefined): void {
    if (node.type.startsWith('TS') && !isNode(node['expression'])) return
    if (node.type === 'ImportDeclaration' || node.type.startsWith('Export')) {
      if (isNode(node['declaration'])) this.#read(node['declaration'], node, owner)
      return
    }
    this.#candidatesOf(node, parent, owner)
    if (owner === undefined && (node.type === 'AwaitExpression' || node['await'] === true)) this.isAsync = true
    if (FUNCTIONS.has(node.type)) this.#function(node, parent)
    if (node.type === 'ExpressionStatement' && Array.isArray(parent?.['body'] ?? parent?.['consequent']))
      this.guards.push(() => [{ at: node.start, rank: 2, other: Number.POSITIVE_INFINITY, text: ';' }])
    if (LOOPS.has(node.type)) this.#loop(node['body'] as Node)
    const inner = FUNCTIONS.has(node.type) ? node : owner
    for (const child of childrenOf(node)) this.#read(child, node, inner)
  }

  #function(node: Node, parent: Node | undefined): void {
    const body = node['body'] as Node
    const isMethod = parent?.['value'] === node
    const number = this.functions.push({ start: isMethod ? parent.start : node.start, end: node.end }) - 1
    if (body.type === 'BlockStatement')
      this.guards.push((first) => [{ at: body.start + 1, rank: 1, other: 0, text: `__f(${first + number});` }])
    else this.guards.push((first) => around(body, `(__f(${first + number}), `, ')'))
  }

  #loop(body: Node): void {
    if (body.type === 'BlockStatement')
      this.guards.push(() => [{ at: body.start + 1, rank: 1, other: 0, text: '__f(0);' }])
    else this.guards.push(() => around(body, '{ __f(0); ', ' }'))
  }

  #candidatesOf(node: Node, parent: Node | undefined, owner: Node | undefined): void {
    const text = this.#text(node)
    const test = node['test']
    if (isNode(test) && node.type !== 'SwitchCase') {
      this.#choose('condition negated', test, `!(${this.#text(test)})`)
    }
    const [left, right, argument] = [node['left'], node['right'], node['argument']]
    const operator = node['operator'] as string
    switch (node.type) {
      case 'LogicalExpression':
        if (!isNode(left) || !isNode(right)) return
        if (operator === '??') {
          this.#add('default removed', node, this.#text(left), (id) =>
            around(right, `(__m(${id}) ? undefined : (`, '))'),
          )
        } else
          this.#choose('operator swapped', node, `(${this.#text(left)}) ${SWAPPED[operator]} (${this.#text(right)})`)
        return
      case 'BinaryExpression': {
        if (!isNode(left) || !isNode(right) || left.type === 'PrivateIdentifier') return
        const [helper, swapped] = BOUNDARIES[operator] ?? []
        if (helper !== undefined) {
          this.#add('boundary moved', node, `${this.#text(left)} ${swapped} ${this.#text(right)}`, (id) => [
            ...around(node, `${helper}(${id}, `, ')'),
            { at: left.end, rank: 1, other: 0, text: ', ', until: right.start },
          ])
        } else if (SWAPPED[operator] !== undefined && !(operator === '+' && isText(node)))
          this.#choose('operator swapped', node, `(${this.#text(left)}) ${SWAPPED[operator]} (${this.#text(right)})`)
        return
      }
      case 'ExpressionStatement': {
        let called = node['expression'] as Node
        if (called.type === 'AwaitExpression') called = called['argument'] as Node
        if (called.type === 'ChainExpression') called = called['expression'] as Node
        const isSuper = called.type === 'CallExpression' && (called['callee'] as Node).type === 'Super'
        if (called.type === 'CallExpression' && !isSuper) this.#leaveOut('call removed', node)
        if (called.type === 'AssignmentExpression' || called.type === 'UpdateExpression')
          this.#leaveOut('assignment removed', node)
        return
      }
      case 'ReturnStatement': {
        const body = parent?.['body']
        const isLast = parent === owner?.['body'] && Array.isArray(body) && body.at(-1) === node
        if (!isLast) this.#leaveOut('return removed', node)
        if (isNode(argument) && this.#text(argument) !== 'undefined') this.#undefinedFor(argument)
        return
      }
      case 'ArrowFunctionExpression': {
        const body = node['body'] as Node
        if (body.type !== 'BlockStatement') this.#undefinedFor(body)
        return
      }
      case 'AwaitExpression':
        if (isNode(argument)) this.#choose('await removed', node, `(${this.#text(argument)})`)
        return
      case 'Literal':
        if (parent?.type === 'Property' && parent['key'] === node && parent['computed'] === false) return
        if (parent?.type === 'PropertyDefinition' && parent['key'] === node) return
        if (typeof node['value'] === 'boolean') this.#choose('boolean flipped', node, `${!node['value']}`)
        if (typeof node['value'] === 'number') this.#choose('constant plus one', node, `(${text} + 1)`)
        if (typeof node['value'] === 'bigint') this.#choose('constant plus one', node, `(${text} + 1n)`)
        return
      case 'BlockStatement':
        this.#empty(node, parent)
        return
    }
  }

  #undefinedFor(value: Node): void {
    this.#choose('value removed', value, 'undefined')
  }

  #empty(block: Node, parent: Node | undefined): void {
    const isFunction = parent !== undefined && FUNCTIONS.has(parent.type)
    const text = this.#text(block)
    if ((block['body'] as Node[]).length === 0 || (isFunction && /\bsuper\(/.test(text))) return
    this.#add('block emptied', block, '{}', (id) =>
      isFunction
        ? [{ at: block.start + 1, rank: 1, other: 1, text: `if (__m(${id})) return;` }]
        : [
            { at: block.start + 1, rank: 1, other: 1, text: `if (!__m(${id})) {` },
            { at: block.end - 1, rank: 0, other: -1, text: '}' },
          ],
    )
  }
}

/** Chooses evenly over the file, and returns them in an order in which each beginning is spread over the file too. */
function sampled(all: readonly Candidate[], count: number, seed: string): Candidate[] {
  const random = new RandomDecisions(hashOf(seed)).of('operators')
  const sorted = all.toSorted((a, b) => a.start - b.start || a.end - b.end || a.name.localeCompare(b.name))
  const step = Math.max(1, sorted.length / count)
  const chosen: Candidate[] = []
  for (let from = 0; from < sorted.length && chosen.length < count; from += step) {
    const candidate = sorted[Math.min(sorted.length - 1, Math.floor(from + random.next() * step))]
    if (candidate !== undefined && !chosen.includes(candidate)) chosen.push(candidate)
  }
  for (let last = chosen.length - 1; last > 0; last--) {
    const other = random.below(last + 1)
    const [a, b] = [chosen[last], chosen[other]] as [Candidate, Candidate]
    chosen[last] = b
    chosen[other] = a
  }
  return chosen
}

function printed(code: string, pieces: readonly Piece[]): string {
  const sorted = pieces
    .map((piece, order) => ({ piece, order }))
    .sort(({ piece: a, order: i }, { piece: b, order: j }) => {
      if (a.at !== b.at || a.rank !== b.rank) return a.at - b.at || a.rank - b.rank
      if (a.rank === 1) return a.other - b.other || i - j
      return b.other - a.other || (a.rank === 0 ? j - i : i - j)
    })
  let [text, from] = ['', 0]
  for (const { piece } of sorted) {
    text += code.slice(from, piece.at) + piece.text
    from = piece.until ?? piece.at
  }
  return text + code.slice(from)
}

export interface Instrumented {
  readonly code: string
  /** It awaits outside of functions. */
  readonly isAsync: boolean
  readonly functions: readonly FunctionSpan[]
  /** The chosen mutants: the first has the id `firstMutant`. */
  readonly operators: readonly Operator[]
}

/** Returns the code with `count` mutants, of which `__m(id)` chooses one, and with `__f(id)` in each function and loop. */
export function instrumented(
  path: string,
  code: string,
  { count, firstMutant, firstFunction }: { count: number; firstMutant: number; firstFunction: number },
): Instrumented {
  const reading = new Reading(path, code)
  const chosen = count > 0 ? sampled(reading.candidates, count, path) : []
  const pieces = [
    ...reading.guards.flatMap((guard) => guard(firstFunction)),
    ...chosen
      .map(({ order, pieces }, index) => ({ order, pieces: pieces(firstMutant + index) }))
      .sort((a, b) => a.order - b.order)
      .flatMap(({ pieces }) => pieces),
  ]
  const operators = chosen.map(({ name, start, end, after }) => ({ name, start, end, after }))
  return { code: printed(code, pieces), isAsync: reading.isAsync, functions: reading.functions, operators }
}
