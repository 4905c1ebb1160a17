import { SourceError } from '../../src/contract/errors.js'

/**
 * SQL of the name of the owner of the schema `listwatch`, if this role is a superuser and the owner is none; else NULL.
 * The functions of the schema could then make the owner a superuser.
 */
export const UNTRUSTED_OWNER_SQL = `(SELECT r.rolname FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
  WHERE pg_catalog.current_setting('is_superuser') OPERATOR(pg_catalog.=) 'on'::pg_catalog.text AND n.nspname OPERATOR(pg_catalog.=) 'listwatch'::pg_catalog.name AND NOT r.rolsuper)`

/** Throws `UNAUTHORIZED` if there is such an owner, before a function of the schema is called. */
export function assertTrusted(owner: unknown): void {
  if (owner == null) return
  const message = `this role is a superuser, and the functions of the schema listwatch belong to "${String(owner)}", who is none: connect as that role, or as one that was granted the right to mirror`
  throw new SourceError(message, { code: 'UNAUTHORIZED' })
}
