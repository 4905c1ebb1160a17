import { SourceError } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'

/** One field of a version: the texts that it allows, which contain no ".", and their values. */
export interface VersionField<V> {
  allows(text: string): boolean
  parse(text: string): V
  format(value: V): string
}

export interface VersionFormat<T> {
  format(value: T): Version
  /** @throws SourceError PROTOCOL when the text is not in this format. */
  parse(version: Version): T
}

/** A number from 0 to 2^53 - 1. */
export const integer: VersionField<number> = {
  allows: (text) => /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)),
  parse: Number,
  format: String,
}

export function textField(pattern: RegExp): VersionField<string> {
  return { allows: (text) => pattern.test(text), parse: (text) => text, format: (text) => text }
}

/** A field that may be unknown: `-`. */
export function optional<V>({ allows, parse, format }: VersionField<V>): VersionField<V | undefined> {
  return {
    allows: (text) => text === '-' || allows(text),
    parse: (text) => (text === '-' ? undefined : parse(text)),
    format: (value) => (value === undefined ? '-' : format(value)),
  }
}

/** `<tag>.<field>.<field>…`, in the order of `fields`. `of` names the kind of source in messages. */
export function versionFormat<T extends object>(
  tag: string,
  of: string,
  fields: { readonly [K in keyof T]-?: VersionField<T[K]> },
): VersionFormat<T> {
  const names = Object.keys(fields) as (keyof T)[]
  return {
    format: (value) => [tag, ...names.map((name) => fields[name].format(value[name]))].join('.'),
    parse: (version) => {
      const texts = version.startsWith(`${tag}.`) ? version.slice(tag.length + 1).split('.') : []
      if (texts.length !== names.length) throw notAVersion(version, of)
      const entries = names.map((name, at) => {
        const text = texts[at] ?? ''
        if (!fields[name].allows(text)) throw notAVersion(version, of)
        return [name, fields[name].parse(text)] as const
      })
      return Object.fromEntries(entries) as T
    },
  }
}

export function notAVersion(version: string, of: string): SourceError {
  const shown = version.length > 60 ? `${version.slice(0, 60)}…` : version
  return new SourceError(`"${shown}" is not a version of ${of}`, { code: 'PROTOCOL' })
}

export function otherHistory(detail: string): SourceError {
  return new SourceError(`the version is of another history: ${detail}`, { code: 'EPOCH_CHANGED' })
}
