import { SourceError } from '../../../src/contract/errors.js'

/** SQL of the tables and the condition of a query for `r`: the owners of the schema `listwatch` and of its objects. */
export const OWNERS_FROM_SQL: string = `FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL (
      SELECT n.nspowner UNION ALL SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid
      UNION ALL SELECT p.proowner FROM pg_catalog.pg_proc p WHERE p.pronamespace OPERATOR(pg_catalog.=) n.oid
      UNION ALL SELECT t.typowner FROM pg_catalog.pg_type t WHERE t.typnamespace OPERATOR(pg_catalog.=) n.oid
    ) o(id) JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) o.id
    WHERE n.nspname OPERATOR(pg_catalog.=) 'listwatch'::pg_catalog.name`

/**
 * SQL of whether this session may use the schema `listwatch`: NULL if it may. If it is one of a superuser, or of a member
 * of one: the name of a role that is not a superuser and owns an object of the schema, or an empty text if there is no
 * schema. The owner can change what the object does, and would become a superuser by its use. One statement reads both
 * from one snapshot: the owner can rename the schema away and back.
 */
export const UNTRUSTED_SQL: string = `(CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_roles m WHERE m.rolsuper AND (pg_catalog.pg_has_role(m.oid, 'MEMBER') OR pg_catalog.pg_has_role(session_user, m.oid, 'MEMBER')))
  THEN (SELECT CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=) 0::pg_catalog.int8 THEN '' ELSE pg_catalog.min(r.rolname::pg_catalog.text) FILTER (WHERE NOT r.rolsuper) END
    ${OWNERS_FROM_SQL}) END)`

const NO_SCHEMA = 'schema "listwatch" does not exist'

/** Throws `UNAUTHORIZED` for an owner, and `NOT_FOUND` for no schema, before an object of the schema is used. */
export function assertTrusted(untrusted: unknown): void {
  if (untrusted == null) return
  // As the server reports it.
  const cause = Object.assign(new Error(NO_SCHEMA), { code: '3F000' })
  if (untrusted === '') throw new SourceError(NO_SCHEMA, { code: 'NOT_FOUND', cause })
  throw new SourceError(untrustedMessage(String(untrusted)), { code: 'UNAUTHORIZED' })
}

/** SQL of a block that throws in the same cases. */
export const ASSERT_TRUSTED_SQL: string = `DO $do$ DECLARE owner pg_catalog.text := ${UNTRUSTED_SQL}; BEGIN
  IF owner OPERATOR(pg_catalog.=) ''::pg_catalog.text THEN RAISE EXCEPTION '${NO_SCHEMA}' USING ERRCODE = '3F000'; END IF;
  IF owner IS NOT NULL THEN RAISE EXCEPTION '${untrustedMessage('%')}', owner USING ERRCODE = '28000'; END IF;
END $do$`

function untrustedMessage(owner: string): string {
  return `this role is a superuser, and "${owner}", which owns objects of the schema listwatch, is not: they would run as a superuser; connect as that role, or as one that was granted the right to mirror`
}
