import { availableParallelism, cpus, loadavg } from 'node:os'
import type { Figure } from './figures.ts'

/** The figures of one benchmark. */
export interface Measured {
  readonly name: string
  readonly about: string
  readonly figures: readonly Figure[]
}

const BAR = { height: 16, gap: 8, left: 520, width: 300, right: 60 } as const
/** The chart ends at this multiple of the goals. */
const LONGEST = 2

/** Returns a page with all figures, and a chart of each figure beside its goal. */
export function report(measured: readonly Measured[]): { readonly page: string; readonly chart: string } {
  const lines = [
    '# Performance',
    '',
    `One run of \`npm run bench -- --report ${measured.map(({ name }) => name).join(' ')}\` on ${machine()}.`,
    'Each figure is measured next to its baseline in the same run, and has a goal. Goals that were missed are in bold.',
    'A load above the number of cores makes all times longer, and ratios less exact.',
    '',
    '![each figure beside its goal](performance.svg)',
  ]
  for (const { name, about, figures } of measured) {
    lines.push('', `## ${name}`, '', `${about}.`, '', '| figure | result | goal | beside |', '|---|---|---|---|')
    for (const figure of figures) lines.push(row(figure))
  }
  return { page: `${lines.join('\n')}\n`, chart: chart(measured.flatMap(({ figures }) => figures)) }
}

function machine(): string {
  const { model = 'a processor' } = cpus()[0] ?? {}
  const load = (loadavg()[0] ?? 0).toFixed(1)
  return `${model}, ${availableParallelism()} cores, Node ${process.version}, at a load of ${load}`
}

function row({ name, value, unit, goal, holds, peers }: Figure): string {
  const result = `${short(value)} ${unit}`
  const beside = Object.entries(peers).map(([peer, figure]) => `${peer} ${short(figure)}`)
  return `| ${name} | ${holds ? result : `**${result}**`} | ${goal} | ${beside.join(', ')} |`
}

/** One bar for each figure, as a multiple of its goal: a bar that ends left of the line holds. */
function chart(figures: readonly Figure[]): string {
  const scale = BAR.width / LONGEST
  const height = (figures.length + 2) * (BAR.height + BAR.gap)
  const width = BAR.left + BAR.width + BAR.right
  const bars = figures.map(({ name, value, goal, holds }, i) => {
    const limit = Number(goal.slice(2))
    const share = goal.startsWith('≥') ? limit / value : value / limit
    const length = Math.max(1, Math.min(Math.max(share, 0), LONGEST) * scale)
    const y = (i + 1) * (BAR.height + BAR.gap)
    const text = `<text x="${BAR.left - 8}" y="${y + 12}" text-anchor="end">${escaped(name)}</text>`
    const fill = holds ? '#2b8a3e' : '#c92a2a'
    const bar = `<rect x="${BAR.left}" y="${y}" width="${length.toFixed(1)}" height="${BAR.height}" fill="${fill}"/>`
    const label = `<text x="${(BAR.left + length + 6).toFixed(1)}" y="${y + 12}">${short(share)}</text>`
    return `  ${text}${bar}${label}`
  })
  const goal = BAR.left + scale
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    '  <title>Each figure as a multiple of its goal</title>',
    `  <rect width="${width}" height="${height}" fill="white"/>`,
    ...bars,
    `  <line x1="${goal}" y1="20" x2="${goal}" y2="${height - BAR.height}" stroke="black" stroke-dasharray="4 3"/>`,
    `  <text x="${goal}" y="14" text-anchor="middle">goal</text>`,
    '</svg>',
    '',
  ].join('\n')
}

function short(value: number): string {
  return String(value >= 100 ? Math.round(value) : Math.round(value * 100) / 100)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
