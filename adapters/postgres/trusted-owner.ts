import { SourceError } from '../../src/contract/errors.js'

/**
 * SQL of the name of the owner of the schema `listwatch`, if this role is a superuser and the owner is not; else NULL.
 * The owner can give the functions of the schema any body, and would become a superuser by their calls.
 */
export const UNTRUSTED_OWNER_SQL = `(SELECT r.rolname FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
  WHERE pg_catalog.current_setting('is_superuser') OPERATOR(pg_catalog.=) 'on'::pg_catalog.text AND n.nspname OPERATOR(pg_catalog.=) 'listwatch'::pg_catalog.name AND NOT r.rolsuper)`

/** Throws `UNAUTHORIZED` if there is such an owner, before a function of the schema is called. */
export function assertTrusted(owner: unknown): void {
  if (owner == null) return
  const message = `this role is a superuser, and "${String(owner)}", which owns the functions of the schema listwatch, is not: they would run as a superuser; connect as that role, or as one that was granted the right to mirror`
  throw new SourceError(message, { code: 'UNAUTHORIZED' })
}
