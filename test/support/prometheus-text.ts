/** A sample of the text format 0.0.4 of Prometheus. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type Family = { readonly type: string; readonly help: string; readonly samples: Sample[] }

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = String.raw`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"`
const sampleLine = new RegExp(String.raw`^(${NAME})(?:\{(${LABEL}(?:,${LABEL})*)\})? (\S+)$`)
const number = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/

/**
 * Parses the text format 0.0.4, and throws for all that the format forbids: a family that is divided or has no HELP and TYPE, a
 * series that occurs twice, a wrong name, number or escape, a missing end of line.
 */
export function parsePrometheusText(text: string): ReadonlyMap<string, Family> {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let help: readonly [name: string, text: string] | undefined
  let current: string | undefined
  for (const line of text.split('\n').slice(0, -1)) {
    const comment = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line)
    if (comment !== null) {
      const [, kind, name = '', rest = ''] = comment
      if (kind === 'HELP') {
        if (families.has(name)) throw new Error(`a second HELP of ${name}`)
        help = [name, rest]
      } else {
        if (help?.[0] !== name) throw new Error(`TYPE without HELP: ${line}`)
        if (!/^(counter|gauge)$/.test(rest)) throw new Error(`an unknown type: ${line}`)
        families.set(name, { type: rest, help: help[1], samples: [] })
        current = name
      }
      continue
    }
    const found = sampleLine.exec(line)
    const value = found?.at(-1) ?? ''
    if (found === null || !number.test(value)) throw new Error(`not a sample: ${line}`)
    const [, name = '', labelText = ''] = found
    const family = families.get(name)
    if (name !== current || family === undefined) throw new Error(`a sample outside of its family: ${line}`)
    const labels: Record<string, string> = {}
    for (const [, label = '', escaped = ''] of labelText.matchAll(new RegExp(LABEL, 'g'))) {
      if (label in labels) throw new Error(`a label occurs twice: ${line}`)
      labels[label] = escaped.replace(/\\(.)/g, (_, each) => (each === 'n' ? '\n' : each))
    }
    const id = `${name} ${JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))}`
    if (series.has(id)) throw new Error(`a series occurs twice: ${line}`)
    series.add(id)
    family.samples.push({ name, labels, value: Number(value.replace('Inf', 'Infinity')) })
  }
  return families
}

/** The usual reasons of relists in metrics. Each is 0 before the first relist. */
export const RELIST_REASONS: readonly string[] =
  'requested audit version_expired epoch_changed stale_list unavailable timeout incomplete released_key'.split(' ')
