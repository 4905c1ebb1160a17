/** A phrase that the documents do not use. */
export type Finding = { readonly line: number; readonly phrase: string; readonly instead: string }
/**
 * Phrases of a private language that a reader cannot search for. Plain English needs "place", "moment", "turn" and
 * "stay", "none of the members", "there is no index", "users who" and "so large that": these are allowed.
 */
const RULES: readonly { readonly phrase: RegExp; readonly instead: string }[] = [
  {
    // "The point where the watch ended" is a place, and `--where` and `where:` are options. The rest are conditions.
    phrase: /(?<!--|\b(?:place|point|position|line|file|directory|see|exactly)\s+)\bwhere\b(?!:)/gi,
    instead: 'if, when, unless',
  },
  { phrase: /\bwho(?:m?ever)\b/gi, instead: 'a noun: the caller, a client that' },
  {
    phrase: /(?<=^|[.:;(|]\s+|\b(?:all|and|as|by|for|from|of|only|or|says|to)\s+)who\b(?![^.|]*\?)/gi,
    instead: 'a noun: the caller, a client that',
  },
  { phrase: /\b(?:gives|gave)\b(?!\s+up\b)/gi, instead: 'returns, yields, resolves with' },
  {
    phrase: /(?<!,\s+)\bso\s+(?:few|long|many|much|often)\b(?!(?:\s+\S+){0,4}\s+that\b)/gi,
    instead: 'the number with its unit',
  },
  { phrase: /\b(?:no|some|every|any)body\b/gi, instead: 'a noun: no subscriber, a client, all readers' },
  { phrase: /\b(?:go|goes|going|went)\s+on\b/gi, instead: 'continues, resumes' },
  { phrase: /\bfrom\s+where\b/gi, instead: 'from the current version' },
  {
    phrase:
      /(?<!\bthere\s+)\b(?:is|are|was|were)\s+no\s+(?!longer\b|more\b|less\b|later\b|sooner\b|earlier\b|larger\b|smaller\b|better\b)\w+/gi,
    instead: 'is not a, has no',
  },
  { phrase: /(?<!\bthere\s+)\b(?:is|are|was|were)\s+none\b|\bnone\s+such\b/gi, instead: 'is not a, has no' },
  { phrase: /\bwish(?:es|ed)?\b/gi, instead: 'Retry-After, request' },
  { phrase: /\bdoubts?\b/gi, instead: 'suspicion, audit request' },
  { phrase: /\bhome\b(?!\s+director)/gi, instead: 'cluster' },
  { phrase: /\belsewhere\b/gi, instead: 'the name of the other one' },
  { phrase: /\bvisits?\b/gi, instead: 'session, request' },
  { phrase: /\bwithout\s+a\s+word\b|\ba\s+word\s+(?:from|of)\b/gi, instead: 'message, response' },
  { phrase: /\bnews\b/gi, instead: 'change, notification' },
  { phrase: /\blife\s+signs?\b|\bsigns?\s+of\s+life\b/gi, instead: 'keep-alive' },
  { phrase: /\bfarewells?\b/gi, instead: 'close' },
  { phrase: /\bmend(?:s|ed|ing)?\b/gi, instead: 'fix, repair' },
  { phrase: /\banew\b/gi, instead: 'again, recreated' },
  { phrase: /\bfor\s?ever\b/gi, instead: 'without a limit' },
  { phrase: /\bleft\s+alone\b/gi, instead: 'not contacted, unchanged' },
]

/** Returns every forbidden phrase of a text, in the order of its lines. */
export function findings(text: string): Finding[] {
  return RULES.flatMap(({ phrase, instead }) =>
    Array.from(text.matchAll(phrase), (match) => ({
      line: text.slice(0, match.index).split('\n').length,
      phrase: match[0].replace(/\s+/g, ' '),
      instead,
    })),
  ).sort((a, b) => a.line - b.line)
}

/** Returns a Markdown document without its code and the targets of its links. Every line keeps its number. */
export function proseOf(document: string): string {
  return document
    .replace(/^```[\s\S]*?^```$/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/`[^`]*`/g, (code) => `\`${code.replace(/[^\n]/g, '')}\``)
    .replace(/\]\([^)\s]*\)/g, ']')
}
