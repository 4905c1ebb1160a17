/**
 * SQL of a query with one column, `id`: the functions of users that something calls, directly, through an operator, or
 * through a function whose body is parsed when it is created. The text of another function's body says nothing about
 * what it calls. `start`: a query with the columns `classid` and `objid` of pg_depend.
 */
export function calledFunctionsSql(start: string): string {
  return `WITH RECURSIVE called(class, id) AS (
    ${start}
    UNION SELECT d.refclassid, d.refobjid FROM called JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) called.class AND d.objid OPERATOR(pg_catalog.=) called.id
     WHERE d.refclassid OPERATOR(pg_catalog.=) ANY (ARRAY['pg_catalog.pg_proc', 'pg_catalog.pg_operator']::pg_catalog.regclass[])
  ) SELECT called.id FROM called WHERE called.class OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass`
}

/**
 * SQL of a text that changes if one of these functions is replaced or dropped, or if another one gets its name. `ids`:
 * an expression of type oid[].
 */
export function definitionsSql(ids: string): string {
  return `(SELECT pg_catalog.string_agg(pg_catalog.concat(f.oid, ':', f.xmin), ',' ORDER BY f.oid) FROM pg_catalog.pg_proc f WHERE ${hasNameOf(ids)})`
}

interface Definition {
  readonly relid: string
  readonly functions: readonly string[]
}

/** SQL of a text that changes with the shape of a table, or with a function that the condition calls. */
export function shapeSql({ relid, functions }: Definition): string {
  const shape = `listwatch.shape(${relid}::pg_catalog.oid)`
  if (functions.length === 0) return shape
  return `pg_catalog.md5(pg_catalog.concat(${shape}, ',${functions.join()},', ${definitionsSql(arrayOf(functions))}))`
}

/** SQL of a bigint that changes whenever the result of `shapeSql` changes. It costs less. */
export function fingerprintSql({ relid, functions }: Definition): string {
  const fingerprint = `listwatch.fingerprint(${relid}::pg_catalog.oid)`
  if (functions.length === 0) return fingerprint
  return `(${fingerprint} OPERATOR(pg_catalog.#) (SELECT coalesce(pg_catalog.bit_xor(pg_catalog.hash_record_extended(ROW(f.xmin, f.ctid), 17)), 0)
    FROM pg_catalog.pg_proc f WHERE ${hasNameOf(arrayOf(functions))}))`
}

/** The next look-up of the name may find a function whose signature fits better. */
function hasNameOf(ids: string): string {
  return `f.proname OPERATOR(pg_catalog.=) ANY (ARRAY (SELECT g.proname FROM pg_catalog.pg_proc g WHERE g.oid OPERATOR(pg_catalog.=) ANY (${ids})))`
}

function arrayOf(ids: readonly string[]): string {
  return `'{${ids.join()}}'::pg_catalog.oid[]`
}
