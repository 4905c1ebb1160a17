import { SourceError } from '../../src/contract/errors.js'

/**
 * SQL of the name of a role that is not a superuser and owns an object of the schema `listwatch`, if this session is one
 * of a superuser; else NULL. The owner can change what the object does, and would become a superuser by its use.
 */
export const UNTRUSTED_OWNER_SQL: string = `(CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_roles m WHERE m.rolsuper AND m.rolname OPERATOR(pg_catalog.=) ANY (ARRAY[current_user, session_user]))
  THEN (SELECT r.rolname FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL (
      SELECT n.nspowner UNION ALL SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid
      UNION ALL SELECT p.proowner FROM pg_catalog.pg_proc p WHERE p.pronamespace OPERATOR(pg_catalog.=) n.oid
    ) o(id) JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) o.id
    WHERE n.nspname OPERATOR(pg_catalog.=) 'listwatch'::pg_catalog.name AND NOT r.rolsuper LIMIT 1) END)`

/** SQL of whether the schema `listwatch` exists. If it does not, it may be another schema of that name that is used. */
export const HAS_SCHEMA_SQL = `pg_catalog.to_regnamespace('listwatch') IS NOT NULL`

/** Throws `UNAUTHORIZED` if there is such an owner, before an object of the schema is used. */
export function assertTrusted(owner: unknown): void {
  if (owner == null) return
  throw new SourceError(untrusted(String(owner)), { code: 'UNAUTHORIZED' })
}

/** SQL of a block that throws if there is such an owner, or no schema. */
export const ASSERT_TRUSTED_SQL: string = `DO $do$ DECLARE owner pg_catalog.name := ${UNTRUSTED_OWNER_SQL}; BEGIN
  IF NOT (${HAS_SCHEMA_SQL}) THEN RAISE EXCEPTION 'schema "listwatch" does not exist' USING ERRCODE = '3F000'; END IF;
  IF owner IS NOT NULL THEN RAISE EXCEPTION '${untrusted('%')}', owner USING ERRCODE = '28000'; END IF;
END $do$`

function untrusted(owner: string): string {
  return `this role is a superuser, and "${owner}", which owns objects of the schema listwatch, is not: they would run as a superuser; connect as that role, or as one that was granted the right to mirror`
}
