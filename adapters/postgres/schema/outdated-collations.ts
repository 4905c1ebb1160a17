/**
 * SQL of the statements, as an array of texts, that accept the new versions of the outdated collations of a table's
 * indexes. The library of such a collation was upgraded, and may order texts in another way. Until these indexes are
 * built again, a look-up by one may not find a row. `serverVersion`: as in `server_version_num`.
 */
export function outdatedCollationsSql(relid: string, serverVersion: number): string {
  const isDefault = `c.collprovider OPERATOR(pg_catalog.=) 'd'::pg_catalog."char"`
  // Older servers do not know the version of the database's collation.
  const ofDatabase =
    serverVersion < 150_000
      ? 'false'
      : `EXISTS (SELECT FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() AND d.datcollversion OPERATOR(pg_catalog.<>) pg_catalog.pg_database_collation_actual_version(d.oid))`
  return `ARRAY (SELECT DISTINCT CASE WHEN ${isDefault} THEN pg_catalog.format('ALTER DATABASE %I REFRESH COLLATION VERSION', pg_catalog.current_database())
        ELSE pg_catalog.format('ALTER COLLATION %I.%I REFRESH VERSION', n.nspname, c.collname) END
    FROM (SELECT ${relid} AS oid UNION SELECT p.relid FROM pg_catalog.pg_partition_tree(${relid}) p) r
    JOIN pg_catalog.pg_index i ON i.indrelid OPERATOR(pg_catalog.=) r.oid
    JOIN pg_catalog.pg_collation c ON c.oid OPERATOR(pg_catalog.=) ANY (i.indcollation::pg_catalog.oid[])
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
   WHERE CASE WHEN ${isDefault} THEN ${ofDatabase} ELSE c.collversion OPERATOR(pg_catalog.<>) pg_catalog.pg_collation_actual_version(c.oid) END)`
}

export function outdatedIndexes(table: string, refreshes: readonly string[]): { problem: string; remedy: string } {
  return {
    problem: `a library that orders texts was upgraded: indexes of ${table} may not find rows, so mirrors read the whole table after each change`,
    remedy: `run: REINDEX TABLE ${table}; ${refreshes.join('; ')}`,
  }
}
